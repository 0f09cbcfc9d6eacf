"""Images in items: from hosts that the owner names, in the value itself, or from a folder here.

A browser that loads an image from elsewhere tells that host who looks at which item, and when. So
images are loaded only from places named by the owner, and the page's policy says the same.
"""

import re
import secrets
from hashlib import sha256
from hmac import compare_digest
from hmac import new as hmac
from pathlib import Path
from urllib.parse import urlencode, urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from assay.web import Options
from assay.web.auth import needs
from assay.web.http import refuse

_DATA = re.compile(r"data:image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+={0,2}")
_LARGEST = 20 * 1024 * 1024  # bytes of a file
_KINDS = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}

# Key of this process: a reviewer can request only the files of items that they were shown.
_KEY = secrets.token_bytes(32)


def image_address(text: str, options: Options) -> str | None:
    """Address of an image for a page; None if it may not be shown.

    >>> image_address("https://a.example/1.png", Options())
    'https://a.example/1.png'
    >>> image_address("https://b.example/1.png", Options(image_hosts=("a.example",))) is None
    True
    """
    if _DATA.fullmatch(text):
        return text
    if is_https(text):
        host = urlsplit(text).hostname
        return text if not options.image_hosts or host in options.image_hosts else None
    if options.image_folder is None or _file(options.image_folder, text) is None:
        return None
    return f"/image?{urlencode({'file': text, 'proof': _proof(text)})}"


def is_https(text: str) -> bool:
    """Whether a text is an unambiguous https address.

    >>> [is_https(text) for text in ("https://a.example/x", "http://a.example", "https://u@a.b")]
    [True, False, False]
    """
    if not text.isprintable() or any(sign.isspace() or sign == "\\" for sign in text):
        return False
    try:
        parts = urlsplit(text)
        return parts.scheme == "https" and bool(parts.hostname) and "@" not in parts.netloc
    except ValueError:
        return False


def _proof(text: str) -> str:
    return hmac(_KEY, text.encode("utf-8", "surrogatepass"), sha256).hexdigest()


def _file(folder: Path, text: str) -> Path | None:
    """File that a text names, if it is in the folder after following links."""
    if not text or "\x00" in text:
        return None
    try:
        path = (folder / text).resolve()
        inside = path.is_relative_to(folder.resolve())
        return path if inside and path.is_file() else None
    except (OSError, ValueError, RuntimeError):
        return None


def _read(folder: Path, text: str) -> tuple[bytes, str] | None:
    """Bytes and media type of an image; None if the file is not one."""
    path = _file(folder, text)
    if path is None:
        return None
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST + 1)
    except OSError:
        return None
    if len(content) > _LARGEST:
        return None
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return content, "image/webp"
    kind = next((kind for begin, kind in _KINDS.items() if content.startswith(begin)), None)
    return None if kind is None else (content, kind)


@needs("reviewer")
async def show_image(request: Request) -> Response:
    """Image of the folder, for holders of an address that came with an item."""
    options: Options = request.app.state.options
    text, proof = (request.query_params.get(name, "") for name in ("file", "proof"))
    if not text or not proof:
        refuse("the address of an image needs a file and a proof")
    if options.image_folder is None or not compare_digest(
        proof.encode("utf-8", "surrogatepass"), _proof(text).encode()
    ):
        raise HTTPException(404, "there is no such image")
    image = await run_in_threadpool(_read, options.image_folder, text)
    if image is None:
        raise HTTPException(404, "there is no such image")
    return Response(image[0], media_type=image[1])


routes = [Route("/image", show_image, methods=["GET"])]
