"""Containers, as far as they can be checked without an engine that runs them.

What the files say is compared with the program: commands and options, environment variables,
extras, and the files that are copied.
"""

import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import yaml
from packaging.requirements import Requirement

from assay.errors import NAME
from tests.docs.test_docs import unknown

ROOT = Path(__file__).parents[1]
DOCKERFILE = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
SOURCE = "\n".join(file.read_text() for file in (ROOT / "src").rglob("*.py"))
OF_LIBPQ = {"PGPASSWORD"}


def steps(word: str) -> list[str]:
    return re.findall(rf"^{word} (.+)$", DOCKERFILE, re.MULTILINE)


def in_shell(text: str, **given: str) -> str:
    """Return a text of compose.yaml as it is with these variables."""
    text = re.sub(r"\$\{(\w+):\?[^}]*\}", lambda found: given[found[1]], text)
    text = re.sub(r"\$\{(\w+):-([^}]*)\}", lambda found: given.get(found[1], found[2]), text)
    return text.replace("$$", "$")


def test_the_image_installs_this_package_with_extras_that_there_are() -> None:
    (wanted,) = re.findall(rf'"{NAME}\[([^\]]+)\]"', DOCKERFILE)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert set(wanted.split(",")) == {"web", "postgres"} <= set(project["optional-dependencies"])
    assert steps("ENTRYPOINT") == ['["assay"]'] and "assay" in project["scripts"]
    (user,) = steps("USER")
    assert user != "root"


def test_the_image_installs_versions_that_the_package_allows() -> None:
    assert any("-c /constraints.txt" in step for step in steps("RUN"))
    lines = (ROOT / "constraints.txt").read_text().splitlines()[1:]
    pinned = dict(line.split("==") for line in lines)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    needed = map(Requirement, [*project["dependencies"], *extras["web"], *extras["postgres"]])
    for each in needed:
        assert pinned[each.name.lower()] in each.specifier


def test_what_the_image_copies_is_there_and_not_ignored() -> None:
    named = [name for step in steps("COPY") for name in shlex.split(step)[:-1]]
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    assert set(named) == {"pyproject.toml", "README.md", "LICENSE", "src", "constraints.txt"}
    assert all((ROOT / name).exists() and f"!{name}" in ignored for name in named)


def test_variables_are_those_that_the_program_reads() -> None:
    of_image = {word.partition("=")[0] for step in steps("ENV") for word in shlex.split(step)} - {
        "PYTHONUNBUFFERED"
    }
    of_page = set(COMPOSE["services"]["page"]["environment"])
    assert of_image == of_page - OF_LIBPQ == {"ASSAY_STORAGE", "ASSAY_CONFIG_HOME"}
    assert all(f'"{name}"' in SOURCE for name in of_image)


def test_the_page_is_served_with_options_that_there_are_behind_the_proxy_alone() -> None:
    services = COMPOSE["services"]
    page, proxy = services["page"], services["proxy"]
    words = [in_shell(word, ASSAY_CAMPAIGN="spam") for word in page["command"]]
    assert words == ["serve", "spam", "--allow-host", "localhost", "--proxy", "127.0.0.1"]
    assert unknown(["assay", *words]) == []
    assert page["network_mode"] == "service:proxy" and "ports" not in page
    assert proxy["ports"] == ["443:443"] and "ports" not in services["db"]
    (config,) = proxy["configs"]
    told = in_shell(COMPOSE["configs"][config["source"]]["content"])
    assert told.startswith("{$ASSAY_HOST} {") and "ASSAY_HOST" in proxy["environment"]
    assert "tls internal" in told and "reverse_proxy 127.0.0.1:8000" in told


def test_services_name_each_other_and_volumes_that_there_are() -> None:
    services = COMPOSE["services"]
    assert set(services["page"]["depends_on"]) <= set(services)
    for service in services.values():
        named = [volume.partition(":")[0] for volume in service.get("volumes", [])]
        assert {name for name in named if not name.startswith(".")} <= set(COMPOSE["volumes"])
    db, page = services["db"]["environment"], services["page"]["environment"]
    assert page["ASSAY_STORAGE"] == f"postgresql://{db['POSTGRES_USER']}@db/{db['POSTGRES_DB']}"
    assert page["PGPASSWORD"] == db["POSTGRES_PASSWORD"]
    secret = in_shell(db["POSTGRES_PASSWORD"], POSTGRES_PASSWORD="secret")
    assert secret == "secret"  # and no other: it has no default
