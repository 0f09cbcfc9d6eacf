"""Requests that a page elsewhere made the browser send: they must change nothing."""

from starlette.exceptions import HTTPException
from starlette.requests import Request

SAFE_METHODS = frozenset({"GET", "HEAD"})


def refuse_other_sites(request: Request) -> None:
    """Raise where a request that may change something does not show that our own page sent it."""
    if request.method not in SAFE_METHODS and not _is_ours(request):
        raise HTTPException(403, "this was sent by a page of another site, and changed nothing")


def _is_ours(request: Request) -> bool:
    # Browsers set these two headers themselves; the first only where the address is one that they
    # trust (https, or this machine). A proxy may have changed the scheme that the second names.
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site == "same-origin"
    own = f"{request.url.scheme}://{request.headers.get('host', '')}"
    return request.headers.get("origin", "").lower() == own.lower()
