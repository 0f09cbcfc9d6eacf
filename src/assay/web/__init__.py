"""The web page: reviewers judge items in a browser, and the owner watches the estimate.

Nothing here is imported by the library; it needs the packages of the extra ``assay[web]``.
"""

from dataclasses import dataclass, field

from assay.web.tokens import ROLES, digest_of, new_token

__all__ = ["LOOPBACK_HOSTS", "ROLES", "Options", "digest_of", "new_token"]

LOOPBACK_HOSTS = frozenset({"127.0.0.1", "localhost", "::1"})


@dataclass(frozen=True)
class Options:
    """How a campaign is served.

    Parameters
    ----------
    hosts : frozenset of str
        The names by which browsers may call the server, in lower case and without a port. A page
        elsewhere that lets its own name point here (DNS rebinding) is refused by this.
    guidelines : str
        How to judge, shown beside every item.
    links, images : tuple of str
        Columns whose https addresses are shown as links or images; all else is shown as text.
    lease : float
        Seconds for which an item is kept for the reviewer who was shown it.
    local_token : str, optional
        The token of an owner that this run has made for itself. It is kept nowhere else.
    """

    hosts: frozenset[str] = LOOPBACK_HOSTS
    guidelines: str = ""
    links: tuple[str, ...] = ()
    images: tuple[str, ...] = ()
    lease: float = 600.0
    local_token: str | None = field(default=None, repr=False)
