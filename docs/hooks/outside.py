"""Pages link to files of the repository, which are not part of the site: there they are named."""

import re

_LINK = re.compile(r"\[(?P<text>[^\]]+)\]\((?:\.\./)+(?P<path>(?:src|tests|benchmarks)/[^)]+)\)")


def on_page_markdown(markdown: str, **_: object) -> str:
    """Name the files that a page links to outside the site."""
    return _LINK.sub(_named, markdown)


def _named(link: re.Match[str]) -> str:
    text, path = link["text"], link["path"]
    return f"`{path}`" if text.strip("`") == path else f"{text} (`{path}`)"
