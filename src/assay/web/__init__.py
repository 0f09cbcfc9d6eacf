"""The web page: reviewers judge items in a browser, and the owner watches the estimate.

Nothing here is imported by the library; it needs the packages of the extra ``web``.
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
    """How a campaign is served."""

    # The names by which browsers may call the server, in lower case and without a port. A page
    # elsewhere that lets its own name point here (DNS rebinding) is refused by this.
    hosts: frozenset[str] = LOOPBACK_HOSTS
    guidelines: str = ""  # how to judge, shown beside every item
    # links, images: columns whose https addresses are shown as links or images; all else is shown
    # as text.
    links: tuple[str, ...] = ()
    images: tuple[str, ...] = ()
    # The hosts that images may come from; where none is named, any.
    image_hosts: tuple[str, ...] = ()
    # Where the files are that columns of images name by their paths.
    image_folder: Path | None = None
    # How columns are shown, of `KINDS`. What is not named is shown as a conversation or as JSON
    # where it is one, and otherwise as text.
    kinds: Mapping[str, str] = field(default_factory=dict)
    lease: float = 600.0  # seconds for which an item is kept for the reviewer who was shown it
    all_campaigns: bool = False  # owners see the other campaigns of the storage, too
    # The token of an owner that this run has made for itself. It is kept nowhere else.
    local_token: str | None = field(default=None, repr=False)

    @property
    def sees_all(self) -> bool:
        """Whether owners see all campaigns: whoever runs a server for itself can read them."""
        return self.all_campaigns or self.local_token is not None
