"""The audit bundle, and the verification of a storage or a bundle."""

from typing import TYPE_CHECKING

from assay.lazy import on_demand

if TYPE_CHECKING:
    from assay.audit.backup import Backup, backup_storage, restore_storage
    from assay.audit.books import Verification
    from assay.audit.bundle import Bundle, named_zip, write_bundle
    from assay.audit.bundle_checks import verify_bundle
    from assay.audit.verify import verify_campaign
else:
    __getattr__ = on_demand(
        __name__,
        {
            "backup": "Backup backup_storage restore_storage",
            "books": "Verification",
            "bundle": "Bundle named_zip write_bundle",
            "bundle_checks": "verify_bundle",
            "verify": "verify_campaign",
        },
    )

__all__ = [
    "Backup",
    "Bundle",
    "Verification",
    "backup_storage",
    "named_zip",
    "restore_storage",
    "verify_bundle",
    "verify_campaign",
    "write_bundle",
]
