"""The page at `/`: one document that holds its style and its script, and loads nothing from anywhere.

Its parts are the files in `page/`. What the page shows is data of the graph, which its script only ever makes text of;
its policy lets no other script run, and no text become markup or script.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from pathlib import Path

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

__all__ = ["router"]

router = APIRouter()
_PARTS = Path(__file__).parent / "page"
_SCRIPT, _STYLE = "/* SCRIPT */", "/* STYLE */"


@router.api_route("/", methods=["GET", "HEAD"], include_in_schema=False)
async def page(request: Request) -> Response:
    """The page; it asks the other addresses, with the key that its user gives it."""
    document, policy, tag = _page()
    headers = {"ETag": tag, "Cache-Control": "no-cache", "Content-Security-Policy": policy, "X-Frame-Options": "DENY"}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(document, media_type="text/html; charset=utf-8", headers=headers)


@cache
def _page() -> tuple[bytes, str, str]:
    """The document, its policy and its tag."""
    style = (_PARTS / "page.css").read_text(encoding="utf-8")
    script = "\n".join(part.read_text(encoding="utf-8") for part in sorted(_PARTS.glob("*.js")))
    document = (_PARTS / "page.html").read_text(encoding="utf-8").replace(_STYLE, style).replace(_SCRIPT, script)
    policy = (
        "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; connect-src 'self'; "
        f"script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    )
    data = document.encode()
    return data, policy, f'"{hashlib.sha256(data).hexdigest()[:24]}"'


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
