"""``assay open``, ``assay serve`` and ``assay token``: pages in a browser, and access to them."""

import re
from contextlib import nullcontext, suppress
from dataclasses import asdict
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from assay.campaign import Campaign
from assay.cli.confirm import ask_to_confirm
from assay.cli.options import (
    CampaignName,
    NameOrOnly,
    StorageUrl,
    follow_up,
    named,
    open_campaign,
    storage_url,
)
from assay.cli.output import AsJson, console, emit, say_next
from assay.cli.render import view
from assay.cli.taking import argument, flag, option
from assay.errors import InputError, MissingDependencyError, did_you_mean, install
from assay.files import Content
from assay.results import Column, Table, printable
from assay.storage import open_store
from assay.web import KINDS, ROLES, Options, make_token, new_token

if TYPE_CHECKING:
    from starlette.types import ASGIApp

_HERE = "http://127.0.0.1:8000"  # where `assay serve` listens unless told otherwise
_PACKAGES = ("starlette", "uvicorn", "jinja2")
_LONGEST_GUIDELINES = 100_000
_WITHOUT_TLS = (
    "the page is sent as it is, and cookies are not Secure; behind a proxy with TLS on this "
    "machine give --proxy 127.0.0.1, so that they are"
)


def open_(
    storage: Annotated[
        str | None,
        argument("STORAGE", "File or URL. Default: $ASSAY_STORAGE, or assay.db in this folder."),
    ] = None,
    *,
    port: Annotated[
        int, option("Port to listen on. Default: one that is free.", least=0, most=65535)
    ] = 0,
    no_browser: Annotated[bool, flag("Only print the address.", "--no-browser")] = False,
    as_json: AsJson = False,
) -> None:
    """Create, label and watch campaigns in the browser.

    The page is for this machine only. For other people use assay serve.
    """
    _refuse_without_packages()
    from assay.web import serve as server

    if storage is not None and "://" not in storage:
        storage = f"sqlite:///{storage}"
    options = Options(every=True, local_token=new_token())
    hub = server.make_hub(storage_url(storage), options)
    listening = server.listen("127.0.0.1", port)
    address = server.address_of(listening, "127.0.0.1")
    login = f"{address}/login#{options.local_token}"
    if as_json:
        emit({"address": address, "login": login})
    else:
        _say(login, alone=True, warnings=[])
    with suppress(KeyboardInterrupt), nullcontext() if no_browser else server.in_browser(login):
        server.run(hub, listening)


def serve(
    name: NameOrOnly = None,
    *,
    host: Annotated[
        str, option("Address to listen on; any other than the default requires tokens.", "ADDRESS")
    ] = "127.0.0.1",
    port: Annotated[
        int, option("Port to listen on; 0 picks a free one.", least=0, most=65535)
    ] = 8000,
    guidelines: Annotated[
        Path | None, option("Text shown beside every item: how to label.", "FILE")
    ] = None,
    link: Annotated[
        list[str] | None,
        option("Column whose https addresses are shown as links; repeatable.", "COL"),
    ] = None,
    image: Annotated[
        list[str] | None,
        option("Column of images (addresses, data or file names); repeatable.", "COL"),
    ] = None,
    image_host: Annotated[
        list[str] | None, option("Host that images may be loaded from; repeatable.", "NAME")
    ] = None,
    image_folder: Annotated[Path | None, option("Folder with the image files.", "FOLDER")] = None,
    show_as: Annotated[
        list[str] | None, option(f"How to show a column: {', '.join(KINDS)}.", "COL=KIND", "--as")
    ] = None,
    lease: Annotated[
        float,
        option("How long an item stays reserved for a reviewer.", "SECONDS", least=10, most=86_400),
    ] = 600,
    allow_host: Annotated[
        list[str] | None,
        option("Host name that browsers may use for this server; repeatable.", "NAME"),
    ] = None,
    proxy: Annotated[
        str | None, option("Trust X-Forwarded-Proto from this proxy.", "ADDRESS")
    ] = None,
    all_campaigns: Annotated[
        bool, flag("Let owners see all campaigns; without NAME, serve each.", "--all-campaigns")
    ] = False,
    open_: Annotated[bool, flag("Open the page in a browser.", "--open")] = False,
    storage: StorageUrl = None,
    as_json: AsJson = False,
) -> None:
    """Serve the review page and the owner's dashboard.

    The command prints a link that logs you in as owner on this machine. To let others in, create
    tokens first (assay token add) and put a TLS proxy in front.
    """
    _refuse_without_packages()
    from assay.web import serve as server

    every = all_campaigns and name is None
    if every:
        _refuse_columns(image, link, show_as)
    name = "" if every else named(name, storage)
    campaign = None if every else open_campaign(name, storage)
    also = allow_host or []
    alone = server.is_loopback(host) and not also and proxy is None
    if not alone:
        _refuse_without_tokens(campaign, storage)
    if campaign is not None:
        ask_to_confirm(campaign, storage, as_json=as_json)
    options = Options(
        hosts=server.allowed_hosts(host, also),
        guidelines="" if guidelines is None else _text(guidelines),
        links=_shown(campaign, link or []),
        images=_shown(campaign, image or []),
        image_hosts=tuple(_host(each) for each in image_host or []),
        image_folder=_folder(image_folder),
        kinds=_kinds(campaign, show_as or []),
        lease=lease,
        all_campaigns=all_campaigns,
        every=every,
        local_token=new_token() if alone else None,
    )
    listening = server.listen(host, port)
    address = server.address_of(listening, host, also)
    login = f"{address}/login#{options.local_token}" if alone else f"{address}/login"
    warnings = [] if alone or server.hears_proxy(host, proxy) else [_WITHOUT_TLS]
    if as_json:
        emit({"campaign": name, "address": address, "login": login, "warnings": warnings})
    else:
        _say(login, alone=alone, warnings=warnings)
    opened = server.in_browser(login) if open_ else nullcontext()
    # Ctrl-C may also come while the browser starts: an ordinary end.
    with suppress(KeyboardInterrupt), opened:
        server.run(_pages(campaign, options, storage), listening, proxy=proxy)


def _pages(campaign: Campaign | None, options: Options, storage: str | None) -> "ASGIApp":
    """Pages of a campaign; without one, of all campaigns of the storage."""
    from assay.web import serve as server

    if campaign is None:
        return server.make_hub(storage_url(storage), options)
    return server.make_app(campaign, options)


def _refuse_columns(*named: list[str] | None) -> None:
    """Raise if columns are named beside all campaigns, which may have others."""
    if any(named):
        raise InputError(
            "--link, --image and --as need the name of a campaign",
            hint="serve one campaign: `assay serve NAME`",
        )


def _refuse_without_packages() -> None:
    missing = [name for name in _PACKAGES if find_spec(name) is None]
    if missing:
        raise MissingDependencyError(
            f"serving a page needs {', '.join(missing)}", hint=install("web")
        )


def _refuse_without_tokens(campaign: Campaign | None, storage: str | None) -> None:
    """Raise if nobody could log in: to a campaign, or to any of the storage."""
    store = open_store(storage_url(storage)) if campaign is None else campaign.desk.store
    with store.read() as session:
        names = session.names() if campaign is None else [campaign.name]
        tokens = [token for name in names for token in session.tokens(name)]
    if all(token.revoked_at is not None for token in tokens):
        add = follow_up("token add", names[0] if names else "NAME", storage)
        raise InputError(
            "other machines could reach this page, and nobody has a token for it",
            details="without --host, --allow-host and --proxy, Assay serves this machine only",
            hint=f"create tokens first: {add} --role reviewer --who ann (and --role owner for you)",
        )


def _text(file: Path) -> str:
    text = Content(file).text()
    if len(text) > _LONGEST_GUIDELINES:
        raise InputError(
            f"{file} is too long to show beside an item: {len(text):,} characters",
            details=f"guidelines may have at most {_LONGEST_GUIDELINES:,}",
        )
    return text


def _shown(campaign: Campaign | None, columns: list[str]) -> tuple[str, ...]:
    """Columns that reviewers see; raise if one is not among them."""
    shown = () if campaign is None else campaign.settings.source.seen
    for column in columns:
        if column not in shown:
            raise InputError(
                f"column {column!r} is not shown to reviewers",
                details=f"columns shown: {', '.join(shown) or 'none'}",
                hint=did_you_mean(column, shown),
            )
    return tuple(columns)


def _host(name: str) -> str:
    """Check the host name; it becomes a part of the page's policy."""
    if not re.fullmatch(r"[a-z0-9](?:[a-z0-9.-]{0,250}[a-z0-9])?", name.lower()):
        raise InputError(
            f"--image-host {name!r} is not a host name",
            hint="give the part between https:// and the next /, such as images.example.org",
        )
    return name.lower()


def _folder(given: Path | None) -> Path | None:
    if given is not None and not given.is_dir():
        raise InputError(
            f"--image-folder {printable(given)} is not a readable folder",
            hint="give the folder that the paths in the image column are relative to",
        )
    return given


def _kinds(campaign: Campaign | None, given: list[str]) -> dict[str, str]:
    """Display kinds of columns; raise if a column is not shown, or a kind is unknown."""
    kinds = {}
    for text in given:
        column, equals, kind = text.rpartition("=")
        if not equals or kind not in KINDS:
            raise InputError(
                f"--as {text!r} does not say how to show a column",
                details=f"kinds: {', '.join(KINDS)}",
                hint=did_you_mean(kind, KINDS) or "give COLUMN=KIND, as in --as text=markdown",
            )
        kinds[_shown(campaign, [column])[0]] = kind
    return kinds


def _say(login: str, *, alone: bool, warnings: list[str]) -> None:
    screen = console()
    if alone:
        screen.print(Text("Open this link to log in (this machine only):"))
    else:
        screen.print(Text("Reviewers log in here with their tokens:"))
    screen.print(Text.assemble("  ", (printable(login), "bold")), soft_wrap=True)
    for warning in warnings:
        screen.print(Text(f"warning: {warning}", "yellow"))
    screen.print(Text("Press Ctrl-C to stop. Answers shown as saved are stored.", "dim"))


# ``assay token``: who may use a campaign's page.

tokens = typer.Typer(
    name="token", no_args_is_help=True, add_completion=False, help="Manage access tokens."
)


@tokens.command("add")
def add(
    name: CampaignName,
    *,
    role: Annotated[str, option("owner (sees everything) or reviewer (sees items only).")],
    who: Annotated[str, option("Name of the person.", "WHO")],
    url: Annotated[
        str | None, option("Address of your server, such as https://labels.example.org.", "URL")
    ] = None,
    storage: StorageUrl = None,
    as_json: AsJson = False,
) -> None:
    """Create a token, and print it as a link and as a QR code.

    It is shown once and never stored.
    """
    address = _HERE if url is None else _server(url)
    campaign = open_campaign(name, storage)
    if role not in ROLES:
        raise InputError(
            f"there is no role {role!r}",
            details=f"roles: {', '.join(ROLES)}",
            hint=did_you_mean(role, ROLES),
        )
    made = make_token(campaign.desk.store, name, role, who, option="--who ")
    number, who, token = made.number, made.who, made.token
    link = f"{address}/login#{token}"
    if as_json:
        told = {"campaign": name, "id": number, "role": role, "who": who, "token": token}
        emit({**told, "link": link})
        return
    screen = console()
    screen.print(Text.assemble(("token: ", "green"), (token, "bold")), soft_wrap=True)
    screen.print(Text(f"{printable(who)} logs in as {role} with this link. It is not shown again."))
    screen.print(Text.assemble("  ", (link, "bold")), soft_wrap=True)
    if url is None:
        screen.print(Text("It leads to this machine: --url ADDRESS names your server", "dim"))
    elif (code := _qr(link)) is not None:
        screen.print(Text(code, "bright_white on black"), soft_wrap=True)
    say_next(screen, follow_up("serve", name, storage))


def _server(url: str) -> str:
    """Address of a server without a slash at its end."""
    if not re.fullmatch(r"https?://[^\s/?#]+(/[^\s?#]*)?", url):
        raise InputError(
            f"--url {url!r} is not the address of a server",
            hint="give it as people type it, such as https://labels.example.org",
        )
    return url.rstrip("/")


def _qr(text: str) -> str | None:
    """QR code in half blocks; None if the package for it is not installed."""
    if find_spec("segno") is None:
        return None
    import segno

    code = StringIO()
    segno.make_qr(text, error="m").terminal(code, compact=True)
    return code.getvalue().rstrip("\n")


@tokens.command("list")
def list_(name: CampaignName, storage: StorageUrl = None, as_json: AsJson = False) -> None:
    """List the tokens, without their secrets."""
    campaign = open_campaign(name, storage)
    with campaign.desk.store.read() as session:
        rows = session.tokens(name)
    if as_json:
        emit({"campaign": name, "tokens": [asdict(row) for row in rows]})
        return
    if not rows:
        console().print(Text("No tokens yet."))
        return
    columns = (Column(name, "text") for name in ("id", "role", "who", "made", "revoked"))
    cells = (
        (str(row.id), row.role, row.name, row.created_at[:16], (row.revoked_at or "")[:16])
        for row in rows
    )
    console().print(view([Table("Tokens", tuple(columns), tuple(cells))]))


@tokens.command("revoke")
def revoke(
    name: CampaignName,
    number: Annotated[int, argument("ID", "Number of the token, as `assay token list` shows it.")],
    *,
    storage: StorageUrl = None,
    as_json: AsJson = False,
) -> None:
    """Revoke a token. Answers given with it stay."""
    campaign = open_campaign(name, storage)
    with campaign.desk.store.write() as session:
        revoked = session.revoke_token(name, number)
    if not revoked:
        raise InputError(
            f"there is no valid token with id {number}",
            hint=f"see {follow_up('token list', name, storage)}",
        )
    if as_json:
        emit({"campaign": name, "id": number, "revoked": True})
        return
    console().print(Text(f"token {number} is revoked", "green"))
