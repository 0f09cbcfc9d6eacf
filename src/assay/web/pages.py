"""Pages: templates with every value escaped."""

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
