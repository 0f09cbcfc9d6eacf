"""Pages: templates with every value escaped."""

from dataclasses import dataclass, field

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response


def make_templates() -> Environment:
    """Return the templates. What a template forgets to be given is an error, not an empty text."""
    return Environment(
        loader=PackageLoader("assay.web"), autoescape=True, undefined=StrictUndefined
    )


def render(request: Request, template: str, *, status: int = 200, **values: object) -> Response:
    """Return a page.

    Every template has `request`, `person` (None before logging in) and `campaign_name` (None
    before logging in, too: a name may tell what a campaign is about).
    """
    person = getattr(request.state, "person", None)
    request.state.person = person
    name = None if person is None else request.app.state.counter.name
    templates: Environment = request.app.state.templates
    context = {"request": request, "person": person, "campaign_name": name, **values}
    return HTMLResponse(templates.get_template(template).render(context), status)


# How a campaign is served: all that is not in the campaign itself.


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
