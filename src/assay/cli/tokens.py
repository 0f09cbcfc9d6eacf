"""``assay token``: who may use a campaign's page."""

import shlex
import unicodedata
from collections.abc import Collection
from dataclasses import asdict
from typing import Annotated

import typer
from rich.text import Text

from assay.cli.output import AsJson, console, emit, say_next, telling_errors
from assay.cli.render import new_table
from assay.cli.storage import CampaignName, StorageUrl, follow_up, open_campaign
from assay.errors import InputError, did_you_mean
from assay.labelling.accept import reviewer_of
from assay.labelling.review_rule import FROM_BEFORE
from assay.results.text import printable
from assay.web.auth import ROLES, digest_of, new_token

_LONGEST_NAME = 100

tokens = typer.Typer(no_args_is_help=True, help="Say who may use a campaign's page.")


@tokens.command("add")
def add(
    name: CampaignName,
    *,
    role: Annotated[str, typer.Option(help="owner: sees all; reviewer: sees items only.")],
    who: Annotated[str, typer.Option(metavar="WHO", help="The name that their answers carry.")],
    storage: StorageUrl = None,
    as_json: AsJson = False,
) -> None:
    """Make a token for somebody. It is shown once, and never stored."""
    with telling_errors(as_json=as_json):
        campaign = open_campaign(name, storage)
        if role not in ROLES:
            raise InputError(
                f"there is no role {role!r}",
                details=f"roles: {', '.join(ROLES)}",
                hint=did_you_mean(role, ROLES),
            )
        if not who.strip() or len(who) > _LONGEST_NAME or not who.isprintable():
            raise InputError(
                f"{who!r} is not a name",
                details=f"names have 1 to {_LONGEST_NAME} signs, all of which can be seen",
            )
        who = reviewer_of(who)
        token = new_token()
        with campaign.store.write() as session:
            valid = [row.name for row in session.tokens(name) if row.revoked_at is None]
            _refuse_mistakable(who, valid)
            number = session.add_token(name, role, who, digest_of(token))
        if as_json:
            emit({"campaign": name, "id": number, "role": role, "who": who, "token": token})
            return
        screen = console()
        screen.print(Text.assemble(("token: ", "green"), (token, "bold")), soft_wrap=True)
        told = f"{printable(who)} logs in at /login#TOKEN of your server's address, as {role}."
        screen.print(Text(f"{told} It is not shown again."), soft_wrap=True)
        say_next(screen, follow_up("serve", name, storage))


def _refuse_mistakable(who: str, known: Collection[str]) -> None:
    """Raise where a name would be taken for another, which would count as a second reviewer."""
    if _sound(who) == FROM_BEFORE:
        raise InputError(
            f"the name {who!r} is taken: labels from before a campaign carry it",
            hint="choose another name",
        )
    alike = next((each for each in known if _sound(each) == _sound(who)), None)
    if alike is not None and who not in known:
        raise InputError(
            f"{who!r} differs from {alike!r}, who has a token, by case or spaces only",
            details="they would count as two reviewers",
            hint=f"for another link for the same person: --who {shlex.quote(alike)}; "
            "for somebody else choose another name",
        )


def _sound(name: str) -> str:
    """Return what is left of a name when it is read aloud."""
    return "".join(unicodedata.normalize("NFKC", name).casefold().split())


@tokens.command("list")
def list_(name: CampaignName, storage: StorageUrl = None, as_json: AsJson = False) -> None:
    """List the tokens, without what opens the page."""
    with telling_errors(as_json=as_json):
        campaign = open_campaign(name, storage)
        with campaign.store.read() as session:
            rows = session.tokens(name)
        if as_json:
            emit({"campaign": name, "tokens": [asdict(row) for row in rows]})
            return
        if not rows:
            console().print(Text("There is no token yet."))
            return
        table = new_table("id", "role", "who", "made", "revoked")
        for row in rows:
            made, revoked = row.created_at[:16], (row.revoked_at or "")[:16]
            table.add_row(str(row.id), row.role, printable(row.name), made, revoked)
        console().print(table)


@tokens.command("revoke")
def revoke(
    name: CampaignName,
    number: Annotated[int, typer.Argument(metavar="ID", help="As `assay token list` has it.")],
    *,
    storage: StorageUrl = None,
    as_json: AsJson = False,
) -> None:
    """Let a token open nothing from now on. What was answered with it stays."""
    with telling_errors(as_json=as_json):
        campaign = open_campaign(name, storage)
        with campaign.store.write() as session:
            revoked = session.revoke_token(name, number)
        if not revoked:
            raise InputError(
                f"there is no valid token with id {number}",
                hint=f"see {follow_up('token list', name, storage)}",
            )
        if as_json:
            emit({"campaign": name, "id": number, "revoked": True})
            return
        console().print(Text(f"token {number} opens nothing any more", "green"))
