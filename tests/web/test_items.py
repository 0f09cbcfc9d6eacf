"""How items are shown, and from where images of them come."""

import json
from pathlib import Path
from urllib.parse import quote

import pytest

from assay.web import Options
from assay.web.images import image_address
from assay.web.items import kind_of
from tests.web.conftest import MakeWeb

TURNS = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "*Hello*"}]
DEEP = "[" * 100_000

KINDS = {
    "turns": (json.dumps(TURNS), "conversation"),
    "other turns": (json.dumps([{"from": "human", "value": "Hi"}]), "conversation"),
    "mixed": (json.dumps([TURNS[0], {"from": "gpt", "value": "x"}]), "json"),
    "no text": (json.dumps([{"role": "user", "content": 5}]), "json"),
    "an object": ('{"a": 1.50, "a": 2}', "json"),
    "empty": ("[]", "text"),
    "a number": ("12", "text"),
    "a quoted text": ('"Hi"', "text"),
    "not JSON": ("[citation needed]", "text"),
    "half": ('{"a": ', "text"),
    "deep": (DEEP, "text"),
    "long": (json.dumps(["x" * 200_001]), "text"),
    "nothing": ("", "text"),
}


@pytest.mark.parametrize(("text", "kind"), KINDS.values(), ids=KINDS)
def test_a_value_that_says_itself_what_it_is(text: str, kind: str) -> None:
    assert kind_of("column", text, Options()) == kind
    assert kind_of("column", text, Options(kinds={"column": "text"})) == "text"


def test_what_the_owner_says_comes_first() -> None:
    def kind(said: str, text: str) -> str:
        return kind_of("column", text, Options(kinds={"column": said}))

    turns = json.dumps(TURNS)
    assert kind("json", turns) == "json"
    assert kind("conversation", turns) == "conversation"
    assert kind("conversation", "Hi") == "text"
    assert kind("code", turns) == "code"
    assert kind("markdown", "# Hi") == "markdown"
    assert kind("markdown", "x" * 200_001) == "text"


PNG = b"\x89PNG\r\n\x1a\n" + b"rest"
DATA = "data:image/png;base64,iVBORw0KGgo="
BAD = (
    *("../secret.png", "/etc/passwd", "link.png", "nothing.png", "", "a\x00b", ".", "x" * 5_000),
    *("data:image/svg+xml;base64,AAAA", "data:text/html;base64,AAAA", "javascript:alert(1)"),
    *("http://a.example/1.png", "https://b.example/1.png", "https://u@a.example/1.png"),
)


def folder(tmp_path: Path) -> Path:
    (tmp_path / "secret.png").write_bytes(PNG)
    images = tmp_path / "images"
    images.mkdir()
    (images / "a b.png").write_bytes(PNG)
    (images / "text.png").write_text("<script>")
    (images / "link.png").symlink_to(tmp_path / "secret.png")
    return images


def test_only_what_the_owner_allowed_is_an_image(tmp_path: Path) -> None:
    options = Options(images=("image",), image_hosts=("a.example",), image_folder=folder(tmp_path))
    for text in ("a b.png", DATA, "https://a.example/1.png"):
        assert kind_of("image", text, options) == "image", text
        assert kind_of("other", text, options) == "text", text
    for text in BAD:
        assert kind_of("image", text, options) == "text", text


def test_a_file_is_sent_to_whoever_was_given_its_address(make_web: MakeWeb, tmp_path: Path) -> None:
    columns = {"id": ["m1"], "p": [0.9], "image": ["a b.png"]}
    options = Options(images=("image",), image_folder=folder(tmp_path))
    web = make_web(options=options, predictions=columns, show=["image"], budget=1)
    turn = web.client("reviewer").post("/api/review", json={"submits": [], "want": 1}).json()
    [field] = turn["items"][0]["fields"]
    assert (field["kind"], field["value"]) == ("image", "a b.png")
    sent = web.client("reviewer").get(field["address"])
    assert (sent.status_code, sent.content) == (200, PNG)
    assert sent.headers["content-type"] == "image/png"
    assert sent.headers["x-content-type-options"] == "nosniff"
    assert web.client().get(field["address"]).status_code == 401
    proof = field["address"].partition("proof=")[2]
    for text in ("text.png", "../secret.png", "link.png"):
        forged = f"/image?file={quote(text)}&proof={proof}"
        assert web.client("reviewer").get(forged).status_code == 404, text
    # One that is named as an image, and is none, is not sent either.
    given = image_address("text.png", options)
    assert given is not None
    assert web.client("reviewer").get(given).status_code == 404


def test_the_policy_names_the_hosts(make_web: MakeWeb) -> None:
    options = Options(images=("subject",), image_hosts=("a.example",))
    policy = make_web(options=options).client().get("/login").headers["content-security-policy"]
    assert "img-src 'self' data: https://a.example;" in policy
