"""Web page: reviewers judge items in a browser, and the owner watches the estimate.

The library imports nothing from here; this package needs the extra ``web``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from assay.web.tokens import MadeToken, digest_of, is_same, make_token, new_token

__all__ = [
    "KINDS",
    "LOOPBACK_HOSTS",
    "ROLES",
    "MadeToken",
    "Options",
    "digest_of",
    "is_same",
    "make_token",
    "new_token",
]

ROLES = ("owner", "reviewer")
KINDS = ("text", "markdown", "code", "json", "conversation")
LOOPBACK_HOSTS = frozenset({"127.0.0.1", "localhost", "::1"})


@dataclass(frozen=True)
class Options:
    """Options of the server."""

    # Names by which browsers may call the server, in lower case and without a port. This refuses a
    # page elsewhere that lets its own name point here (DNS rebinding).
    hosts: frozenset[str] = LOOPBACK_HOSTS
    guidelines: str = ""  # instructions, shown beside every item
    # links, images: columns whose https addresses are shown as links or images; others are shown as
    # text.
    links: tuple[str, ...] = ()
    images: tuple[str, ...] = ()
    # Hosts that images may come from; default: any.
    image_hosts: tuple[str, ...] = ()
    # Folder of the image files that columns name by their paths.
    image_folder: Path | None = None
    # Display kinds of columns, of `KINDS`. Default: a conversation or JSON is shown as such,
    # everything else as text.
    kinds: Mapping[str, str] = field(default_factory=dict)
    lease: float = 600.0  # seconds for which an item is kept for the reviewer who was shown it
    all_campaigns: bool = False  # owners also see the other campaigns of the storage
    every: bool = False  # the server has the pages of every campaign of the storage
    # Token of an owner, made for this run only. It is stored nowhere else.
    local_token: str | None = field(default=None, repr=False)

    @property
    def sees_all(self) -> bool:
        """Whether owners see all campaigns: whoever runs a server for itself can read them."""
        return self.all_campaigns or self.local_token is not None
