"""What is installed, under which name, and containers, as far as they can be checked here."""

import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import yaml
from packaging.requirements import Requirement

import assay
from assay.errors import NAME, VERSION, install
from tests.docs import first
from tests.docs.test_docs import unknown

ROOT = Path(__file__).parents[1]
_WRITTEN = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT, TOOLS = _WRITTEN["project"], _WRITTEN["tool"]
EXTRAS = PROJECT["optional-dependencies"]
SOURCE = sorted((ROOT / "src").rglob("*.py"))
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / ".github").rglob("*.yml")]

# `assay` alone is another project's name on the index: neither installed, nor with an extra.
OTHER_PROJECT = re.compile(r"install (-\S+ )*['\"]?assay(?!-eval)\b|\bassay\[")


def test_the_name_and_the_version_have_one_source() -> None:
    assert PROJECT["name"] == NAME
    assert assay.__version__ == VERSION


def test_what_an_extra_installs_is_there_for_the_tests() -> None:
    groups = _WRITTEN["dependency-groups"]
    known = {re.split(r"[\[<>=]", each)[0] for each in (*groups["dev"], *groups["engines"])}
    wanted = {re.split(r"[\[<>=]", each)[0] for extra in EXTRAS.values() for each in extra}
    assert wanted - {NAME} <= known


def test_nobody_is_told_to_install_another_project() -> None:
    texts = {page: page.read_text() for page in (*SOURCE, *PAGES)}
    assert [page.name for page, text in texts.items() if OTHER_PROJECT.search(text)] == []


def test_hints_are_formed_in_one_place_and_name_extras_that_there_are() -> None:
    told = {
        name for file in SOURCE for name in re.findall(r"install\(\"(\w+)\"\)", file.read_text())
    }
    assert told <= set(EXTRAS)
    assert told >= {"web", "postgres", "spark", "plot", "mlflow", "notebook"}
    written = [file.name for file in SOURCE if f"pip install '{NAME}" in file.read_text()]
    assert written == ["errors.py"]
    assert install("web") == f"pip install '{NAME}[web]'"


# The README on the package's page of the index, where no repository is around it.


def on_the_index(text: str) -> str:
    """Return the README as the build writes it into the package."""
    hook = TOOLS["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]
    assert hook["fragments"] == [{"path": "README.md"}]
    for each in hook["substitutions"]:
        text = re.sub(each["pattern"], each["replacement"], text)
    return text


def test_links_and_pictures_of_the_readme_work_on_the_package_page() -> None:
    readme = (ROOT / "README.md").read_text()
    shown = on_the_index(readme)
    links = re.findall(r"(!?)\[[^\[\]]*\]\(([^)]+)\)", shown)
    assert len(links) == len(re.findall(r"(!?)\[[^\[\]]*\]\(([^)]+)\)", readme)) > 15
    source = PROJECT["urls"]["Source"]
    raw = source.replace("https://github.com", "https://raw.githubusercontent.com")
    for picture, target in links:
        outside = f"{raw}/main/" if picture else f"{source}/blob/main/"
        if not target.startswith("https://img.shields.io/badge/"):
            assert target.startswith(outside)
            assert (ROOT / target.removeprefix(outside).partition("#")[0]).exists()
    assert "<!--" not in shown
    assert any(picture and target.endswith(".gif") for picture, target in links)


def test_pictures_of_the_readme_are_small() -> None:
    pictures = re.findall(r"!\[[^\]]*\]\((docs/[^)]+)\)", (ROOT / "README.md").read_text())
    assert pictures
    assert all((ROOT / picture).stat().st_size < 1_000_000 for picture in pictures)


def test_the_readme_opens_with_what_it_is_for_and_at_most_five_commands() -> None:
    readme = (ROOT / "README.md").read_text()
    block = first.block()
    told = first.commands(block.text)
    assert told[0].startswith(f"pip install {NAME} ")
    assert len(told) <= first.MOST
    assert all(line.startswith("assay ") for line in told[1:])
    before = readme[: readme.index("```bash")].lower()
    assert "measures how good a classifier is" in before
    assert "paper" not in before


def test_the_readme_says_what_is_so() -> None:
    readme = (ROOT / "README.md").read_text()
    assert PROJECT["requires-python"] == ">=3.11" and "Python 3.11 or newer" in readme
    assert PROJECT["license"] == "Apache-2.0" and "[Apache-2.0](LICENSE)" in readme


DOCKERFILE = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
CODE = "\n".join(file.read_text() for file in (ROOT / "src").rglob("*.py"))
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
    assert all(f'"{name}"' in CODE for name in of_image)


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
