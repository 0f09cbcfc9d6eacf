"""Invitations: a new reviewer's token as a link and as a QR code, shown once."""

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from assay.campaign import Campaign
from assay.web import MadeToken, Options, make_token
from assay.web.auth import needs
from assay.web.http import read_document, root_of, text_in
from assay.web.queue import Counter

_QUIET = 4  # modules of empty margin around a code, by its standard


@needs("owner")
async def invite(request: Request) -> Response:
    """Make a token for a reviewer, and return the link that logs them in."""
    counter: Counter = request.app.state.counter
    options: Options = request.app.state.options
    who = text_in(await read_document(request), "who")

    def make(campaign: Campaign) -> MadeToken:
        return make_token(campaign.desk.store, campaign.name, "reviewer", who)

    made = await counter.call(make)
    # The server answers to the name by which the owner's browser calls it.
    address = f"{request.url.scheme}://{request.headers['host']}"
    link = f"{address}{root_of(request)}/login#{made.token}"
    return JSONResponse(
        {
            "id": made.number,
            "who": made.who,
            "link": link,
            "qr": qr_of(link),
            "alone": options.local_token is not None,
        }
    )


def qr_of(text: str) -> dict[str, Any] | None:
    """QR code of a text: its width in modules, and the dark ones as an SVG path.

    None if the package for it is not installed.

    >>> code = qr_of("https://labels.example/login#abc")
    >>> code["size"], code["path"][:8]
    (37, 'M4 4h7v1')
    """
    try:
        import segno
    except ImportError:
        return None
    matrix = segno.make_qr(text, error="m").matrix
    runs = []
    for y, row in enumerate(matrix, _QUIET):
        cells, x = bytes(map(bool, row)), 0
        while x < len(cells):
            end = x + 1
            while end < len(cells) and cells[end] == cells[x]:
                end += 1
            if cells[x]:
                runs.append(f"M{x + _QUIET} {y}h{end - x}v1h-{end - x}z")
            x = end
    return {"size": len(matrix) + 2 * _QUIET, "path": "".join(runs)}


routes = [Route("/api/invite", invite, methods=["POST"])]
