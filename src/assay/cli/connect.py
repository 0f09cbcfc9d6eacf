"""``assay connect``: judge a campaign's items in a running Label Studio, with live answers."""

import os
from collections import deque
from contextlib import nullcontext
from dataclasses import asdict
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.status import Status
from rich.text import Text

from assay.campaign import Connection, Reading, Standing
from assay.cli.confirm import ask_to_confirm
from assay.cli.exchange import pairs_of
from assay.cli.options import CampaignName, StorageUrl, follow_up, open_campaign
from assay.cli.output import INTERRUPTED, AsJson, collecting_warnings, console, emit, say_next
from assay.cli.render import interval_text
from assay.cli.taking import Typed, flag, only, option, takes
from assay.errors import InputError, counted
from assay.exchange import HEADER, LabelStudio, Webhook
from assay.files import Content
from assay.results import plain_words, printable

_NOTES = 100  # the last, for --json
_VARIABLE = "LABEL_STUDIO_API_KEY"  # as in Label Studio's SDK


@takes(reading=only(Reading, "rename"))
def connect(
    name: CampaignName,
    *,
    to: Annotated[
        str, option("Address of Label Studio, as in a browser.", "URL")
    ] = "http://127.0.0.1:8080",
    token_file: Annotated[
        Path | None, option(f"File with the access token. Default: ${_VARIABLE}.", "FILE")
    ] = None,
    project: Annotated[
        int | None, option("Number of an empty project. Default: create one.", "N")
    ] = None,
    batch: Annotated[int, option("Number of items to send at a time.", least=1, most=10_000)] = 20,
    ahead: Annotated[
        int | None,
        option("Send more when only this many are open. Default: half a batch.", "N", least=0),
    ] = None,
    every: Annotated[
        float, option("Time between checks for answers.", "SECONDS", least=0.1, most=3600)
    ] = 1.0,
    webhook: Annotated[
        str | None, option("Listen here for Label Studio's webhook.", "HOST:PORT")
    ] = None,
    webhook_url: Annotated[
        str | None, option("Address of the webhook as Label Studio sees it, if different.", "URL")
    ] = None,
    reading: Typed,
    revise: Annotated[
        bool, flag("Accept changed answers of rounds that are already counted.", "--revise")
    ] = False,
    storage: StorageUrl = None,
    as_json: AsJson = False,
) -> None:
    """Label in a running Label Studio: send items, collect answers.

    The command runs until the campaign is done. Either side can be stopped at any time; run the
    same command again to continue. People see the items, never the predictions.
    """
    studio = LabelStudio(to, _token(token_file))
    if webhook_url is not None and webhook is None:
        raise InputError(
            "--webhook-url needs --webhook, the address to listen on",
            hint="add --webhook HOST:PORT",
        )
    names = pairs_of("rename", reading.get("rename", []), "label-studio:5=ann")
    campaign = open_campaign(name, storage)
    ask_to_confirm(campaign, storage, as_json=as_json)
    screen, notes = console(stderr=True), deque[str](maxlen=_NOTES)

    def say(text: str) -> None:
        notes.append(text)
        if not as_json:
            screen.print(Text(printable(text)), soft_wrap=True)

    if not studio.is_secret:
        say(f"the token is sent to {studio.address} unencrypted, for anybody to read")
    connection = Connection(
        campaign,
        studio,
        project=project,
        batch=batch,
        ahead=ahead,
        rename=names,
        revise=revise,
        tell=say,
    )
    listener = None
    if webhook is not None:
        listener = Webhook(*_address(webhook, webhook_url), header=HEADER)
    ended = False
    try:
        with collecting_warnings() as warnings:
            standing = _run(connection, screen, every, listener, webhook_url)
        for warning in dict.fromkeys(warnings):
            say(warning)
        ended = True
    except KeyboardInterrupt:
        say("stopped; run the same command to continue, nothing is lost")
    finally:
        if listener is not None:
            connection.close()
            listener.close()
    if not ended:
        raise typer.Exit(INTERRUPTED)
    campaign = connection.campaign
    if as_json:
        estimates = campaign.estimates().to_dict()
        done = {"campaign": name, "done": campaign.done}
        emit({**done, **asdict(standing), "notes": list(notes), "estimates": estimates})
        return
    output = console()
    output.print(Text(_line(connection, standing)))
    output.print(Text(plain_words(campaign.estimates()), "bold green"))
    say_next(output, follow_up("report", name, storage))


def _run(
    connection: Connection,
    screen: Console,
    every: float,  # seconds between looks
    listener: Webhook | None,
    url: str | None,  # address for Label Studio
) -> Standing:
    """Go on until the campaign stops; show progress on a terminal."""
    standing = None
    shown = screen.status(Text("connecting")) if screen.is_terminal else nullcontext()
    with shown as status:
        for standing in connection.run(every=every, webhook=listener, url=url):
            if isinstance(status, Status):
                status.update(Text(_line(connection, standing)))
    if standing is None:  # impossible: there is a step before the end
        raise InputError("the campaign had stopped before anything was sent")
    return standing


def _line(connection: Connection, standing: Standing) -> str:
    now = connection.campaign.estimate()
    parts = [f"project {standing.project}: {standing.tasks:,} sent, {standing.open:,} open"]
    if standing.skipped:
        parts.append(f"{standing.skipped:,} skipped")
    parts.append(f"{standing.taken:,} taken now")
    if standing.kept:
        parts.append(f"{standing.kept:,} changed too late")
    return f"{', '.join(parts)}; {counted(now.labels, 'label')}, {interval_text(now)}"


def _token(file: Path | None) -> str:
    if file is not None:
        return Content(file).text().strip()
    token = os.environ.get(_VARIABLE, "").strip()
    if not token:
        raise InputError(
            "no access token for Label Studio is given",
            details="Label Studio shows it under Account & Settings, Personal Access Token",
            hint=f"put it into a file and pass --token-file FILE, or set {_VARIABLE}",
        )
    return token


def _address(text: str, url: str | None) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not port.isascii() or not port.isdigit() or int(port) > 65_535:
        raise InputError(
            f"--webhook {text!r} is not an address to listen on",
            hint="give HOST:PORT, such as 127.0.0.1:8099",
        )
    if url is None and _is_everywhere(host):
        raise InputError(
            f"--webhook {text} listens on every address of this machine, and Label Studio "
            "needs one to call",
            hint="give that address: --webhook-url http://NAME:PORT/",
        )
    return host, int(port)


def _is_everywhere(host: str) -> bool:
    try:
        return ip_address(host).is_unspecified
    except ValueError:  # a name
        return False
