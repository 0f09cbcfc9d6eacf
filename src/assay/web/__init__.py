"""The web page: reviewers judge items in a browser, and the owner watches the estimate.

Nothing here is imported by the library; it needs the packages of the extra ``web``.
"""

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from hmac import compare_digest

__all__ = ["KINDS", "LOOPBACK_HOSTS", "ROLES", "Options", "digest_of", "is_same", "new_token"]

ROLES = ("owner", "reviewer")
KINDS = ("text", "markdown", "code", "json", "conversation")
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
    kinds : mapping of str to str
        How columns are shown, of `KINDS`. What is not named is shown as a conversation or as JSON
        where it is one, and otherwise as text.
    lease : float
        Seconds for which an item is kept for the reviewer who was shown it.
    local_token : str, optional
        The token of an owner that this run has made for itself. It is kept nowhere else.
    """

    hosts: frozenset[str] = LOOPBACK_HOSTS
    guidelines: str = ""
    links: tuple[str, ...] = ()
    images: tuple[str, ...] = ()
    kinds: Mapping[str, str] = field(default_factory=dict)
    lease: float = 600.0
    local_token: str | None = field(default=None, repr=False)


# A token is a random text that opens a campaign's page, of which only a digest is ever stored. It
# has 256 random bits, so that nobody guesses one, and no salt or slow hash is needed.


def new_token() -> str:
    """Return a new token.

    Examples
    --------
    >>> len(new_token()), new_token() == new_token()
    (43, False)
    """
    return secrets.token_urlsafe(32)


def digest_of(token: str) -> str:
    """Return what is stored of a token.

    Examples
    --------
    >>> digest_of("abc")[:16]
    'ba7816bf8f01cfea'
    """
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def is_same(token: str, other: str) -> bool:
    """Tell whether two tokens are the same, in a time that does not tell how alike they are."""
    return compare_digest(digest_of(token), digest_of(other))
