"""Finds secrets that were pasted into a file instead of being named there. Never repeats what it finds."""

from __future__ import annotations

import re

from abi.findings import Finding

__all__ = ["literal_secrets", "looks_like_secret"]

# Shapes that issuers chose so that scanners can find them: few false alarms.
_SHAPES: list[tuple[str, str]] = [
    ("a private key", r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----"),
    ("an API key", r"\bsk-(?=[A-Za-z_-]*[0-9])[A-Za-z0-9_-]{20,}"),
    ("an AWS access key", r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    ("a GitHub token", r"\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{22,})"),
    ("a GitLab token", r"\bglpat-[A-Za-z0-9_-]{20,}"),
    ("a Slack token", r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}"),
    ("a Google API key", r"\bAIza[0-9A-Za-z_-]{35}"),
    ("a Stripe key", r"\b[rs]k_live_[0-9A-Za-z]{16,}"),
    ("a Hugging Face token", r"\bhf_[A-Za-z0-9]{30,}"),
    ("a JSON web token", r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"),
    ("a password in a URL", r"\b[a-z][a-z0-9+.-]{1,30}://[^\s/:@'\"<>{}$]{1,64}:[^\s/@'\"<>{}$]{3,128}@"),
]
_PATTERN = re.compile("|".join(f"(?P<s{n}>{pattern})" for n, (_, pattern) in enumerate(_SHAPES)))
_NAMED = re.compile(
    r"(?i)\b(?:password|passwd|secret|api[_-]?key|access[_-]?token|auth[_-]?token)\b[\"']?\s*[:=]\s*"
    r"[\"']?((?=[^\s\"'#]*[0-9])(?=[^\s\"'#]*[A-Za-z])[A-Za-z0-9+/=_!@%^&*.-]{16,})"
)
# A name by which a secret is looked up, as the value of a key that is called password or so.
_LOOKUP = re.compile(r"[A-Z][A-Z0-9_.-]*\Z")


def literal_secrets(text: str, path: str) -> list[Finding]:
    """An error for each place of `text` that looks like a secret."""
    places: dict[int, str] = {}
    for match in _PATTERN.finditer(text):
        places.setdefault(text.count("\n", 0, match.start()) + 1, _SHAPES[int((match.lastgroup or "s0")[1:])][0])
    for match in _NAMED.finditer(text):
        if not _LOOKUP.match(match.group(1)):
            places.setdefault(text.count("\n", 0, match.start()) + 1, "a secret")
    fix = "Take it out, name it under `secrets:`, and change it where it was issued: it was in a file."
    return [
        Finding(path, line, "", "error", "secret-literal", f"This line seems to hold {what}.", fix)
        for line, what in sorted(places.items())
    ]


def looks_like_secret(text: str) -> bool:
    """Whether one value has the shape of a secret."""
    return bool(_PATTERN.search(text))
