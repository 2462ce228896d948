"""Pages of data, in which nothing runs and nothing is loaded from anywhere."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from html import escape
from urllib.parse import quote

from starlette.responses import Response

__all__ = ["html_page", "link", "text"]

_STYLE = """
:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse;width:100%}th,td{text-align:left;vertical-align:top;padding:.3rem .6rem;
border-top:1px solid #8886;overflow-wrap:anywhere;white-space:pre-wrap}th{font-weight:500;width:30%}
code,pre{font-family:ui-monospace,monospace;overflow-wrap:anywhere}pre{white-space:pre-wrap;background:#8881;
padding:.6rem}small{opacity:.7}details{border-top:1px solid #8886;padding:.3rem 0}summary{cursor:pointer}
"""
_POLICY = (
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    f"style-src 'sha256-{base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()}'"
)


def text(value: object) -> str:
    """Any text, so that it stands in a page as it is."""
    return escape(str(value), quote=True)


def link(iri: str, base: str, prefixes: Mapping[str, str]) -> str:
    """An IRI: what is under the base leads to its page here, another http address there, anything else is text."""
    shown = text(_short(iri, prefixes))
    if iri.startswith(base):
        target = "/id/" + quote(iri.removeprefix(base), safe="/%:@!$&'()*+,;=~-._")
    elif iri.startswith(("http://", "https://")):
        target = iri
    else:
        return f"<code>{shown}</code>"
    return f'<a href="{text(target)}" rel="noreferrer nofollow" title="{text(iri)}">{shown}</a>'


def html_page(title: str, body: str, headers: Mapping[str, str] | None = None) -> Response:
    """The page with this body, which is HTML: whatever in it is data went through `text`."""
    page = (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{text(title)}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head><body>{body}</body></html>'
    )
    return Response(
        page.encode("utf-8", "backslashreplace"),
        media_type="text/html; charset=utf-8",
        headers={**(headers or {}), "Content-Security-Policy": _POLICY},
    )


def _short(iri: str, prefixes: Mapping[str, str]) -> str:
    for prefix, namespace in prefixes.items():
        if namespace and iri.startswith(namespace) and len(iri) > len(namespace):
            return f"{prefix}:{iri[len(namespace) :]}"
    return iri
