"""`abi --version`."""

from __future__ import annotations

import re
from importlib.metadata import version

from abi import __version__
from abi.cli.session import Session
from abi.files import shipped

__all__ = ["print_version", "versions"]

_VERSION = re.compile(r'owl:versionInfo\s+"([^"]+)"')


def versions() -> dict[str, str]:
    """Versions of abi, of the ontology it ships and of the store it is built on."""
    found = _VERSION.search(shipped("ontology", "abi.ttl").read_text(encoding="utf-8"))
    return {
        "abi": __version__,
        "ontology": found[1] if found else "unknown",
        "store": f"oxigraph {version('pyoxigraph')}",
    }


def print_version(session: Session) -> None:
    found = versions()
    if session.as_json:
        session.output.document(found)
    else:
        session.output.text(f"abi {found['abi']}, ontology {found['ontology']}, {found['store']}")
