"""Tokens: random texts that open a campaign's page, of which only a digest is ever stored.

A token has 256 random bits, so that nobody guesses one, and no salt or slow hash is needed.
"""

import hashlib
import secrets
from hmac import compare_digest

ROLES = ("owner", "reviewer")


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
