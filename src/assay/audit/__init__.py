"""The audit bundle, and the verification of a storage or a bundle."""

from assay.audit.books import Verification
from assay.audit.bundle import Bundle, named_zip, write_bundle
from assay.audit.verify import verify_campaign
from assay.audit.verify_bundle import verify_bundle

__all__ = [
    "Bundle",
    "Verification",
    "named_zip",
    "verify_bundle",
    "verify_campaign",
    "write_bundle",
]
