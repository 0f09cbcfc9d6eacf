"""Tokens for people: random texts that open a campaign's page, under unmistakable names.

Only a digest of a token is ever stored. A token has 256 random bits, so that nobody guesses one,
and no salt or slow hash is needed.
"""

import hashlib
import re
import secrets
import shlex
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from hmac import compare_digest

from assay.errors import InputError
from assay.labelling import FROM_BEFORE, reviewer_of
from assay.storage import Store

_LONGEST_NAME = 100


def new_token() -> str:
    """Create a token.

    >>> len(new_token()), new_token() == new_token()
    (43, False)
    """
    return secrets.token_urlsafe(32)


def digest_of(token: str) -> str:
    """Compute the digest of a token, which is stored.

    >>> digest_of("abc")[:16]
    'ba7816bf8f01cfea'
    """
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def is_same(token: str, other: str) -> bool:
    """Whether two tokens are equal, in constant time."""
    return compare_digest(digest_of(token), digest_of(other))


@dataclass(frozen=True)
class MadeToken:
    """New token: its number, its owner, and its text, which is shown once."""

    number: int
    who: str
    token: str = field(repr=False)


def make_token(store: Store, campaign: str, role: str, who: str, *, option: str = "") -> MadeToken:
    """Make a token for somebody; refuse names that could be confused with another's."""
    if not who.strip() or len(who) > _LONGEST_NAME or not _is_visible(who):
        raise InputError(
            f"{who!r} is not a name", details=f"a name has 1 to {_LONGEST_NAME} visible characters"
        )
    who, token = reviewer_of(who), new_token()
    with store.write() as session:
        valid = [row for row in session.tokens(campaign) if row.revoked_at is None]
        _refuse_mistakable(who, role, {row.name: row.role for row in valid}, option)
        number = session.add_token(campaign, role, who, digest_of(token))
    return MadeToken(number, who, token)


def _refuse_mistakable(who: str, role: str, roles: Mapping[str, str], option: str) -> None:
    """Raise if a name could be taken for another's, or for no person's.

    `known`: roles of people with a valid token, by their names.
    """
    if _sound(who) == FROM_BEFORE:
        raise InputError(
            f"the name {who!r} is reserved for labels that are older than a campaign",
            hint="choose another name",
        )
    if _sound(who) in _RESERVED:
        raise InputError(
            f"the name {who!r} is reserved: in a log it would not identify a person",
            details=f"reserved: {', '.join(sorted(_RESERVED))}",
            hint=f"give the person's own name, such as {option}ann",
        )
    if len(_scripts(who)) > 1:
        raise InputError(
            f"the name {who!r} mixes letters that look alike: {', '.join(_scripts(who))}",
            hint="write it in letters of one script",
        )
    alike = next((each for each in roles if _sound(each) == _sound(who)), None)
    if alike is not None and roles[alike] != role:
        raise InputError(
            f"{alike!r} has a token as {roles[alike]}, and {who!r} could be mistaken for "
            "the same person",
            details="a name belongs to one person, in one role",
            hint="choose another name, or revoke that token first (assay token revoke)",
        )
    if alike is not None and who not in roles:
        raise InputError(
            f"{who!r} differs from {alike!r}, who has a token, by case or spaces only",
            details="they would count as two reviewers",
            hint=f"for another link for the same person: {option}{shlex.quote(alike)}; "
            "for someone else choose another name",
        )


# Reserved names: roles, programs, and names for unnamed people on pages and in the log.
_RESERVED = frozenset(
    {
        *("admin", "administrator", "anonymous", "assay", "everybody", "nobody", "none", "owner"),
        *("reviewer", "root", "ruling", "server", "system", "team", "unknown", "you"),
    }
)
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U000e0100-\U000e01ef]"
)


def _is_visible(name: str) -> bool:
    """Whether every character of a name is visible: some letters and marks have no shape."""
    return name.isprintable() and _INVISIBLE.search(name) is None


def _scripts(name: str) -> list[str]:
    """Which of three scripts with similar letters a name has letters of.

    >>> _scripts("Zoë"), _scripts("\u0430nn")
    (['LATIN'], ['CYRILLIC', 'LATIN'])
    """
    scripts = {unicodedata.name(sign, "").partition(" ")[0] for sign in name}
    return sorted(scripts & {"LATIN", "CYRILLIC", "GREEK"})


def _sound(name: str) -> str:
    """Normalised form of a name, without spaces and case."""
    return "".join(unicodedata.normalize("NFKC", name).casefold().split())
