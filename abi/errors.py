"""Every error that abi raises on purpose, in one tree.

    AbiError                    code          HTTP  exit
    ├─ UsageError               usage          400   2   the call itself is wrong
    │  ├─ ArgumentError         arguments      422   2   a tool or prompt got arguments it cannot take
    │  ├─ Unsupported           unsupported    501   2   this store, embedder or kind cannot do that
    │  ├─ WrongMethod           wrong_method   405   2   the address takes no request of this method
    │  ├─ NotAcceptable         not_acceptable 406   2   none of the formats that the client takes can be had
    │  ├─ Changed               changed        412   2   it is no longer what the client said that it is
    │  ├─ TooLarge              too_large      413   2   a request is larger than its limit
    │  └─ WrongMedia            wrong_media    415   2   a request's body is in a format that is not taken here
    ├─ Unreadable               unreadable     400   3   an input cannot be read or parsed
    │  └─ QuerySyntaxError      query_syntax   400   3   SPARQL that does not parse
    ├─ Invalid                  invalid        422   1   an input was read and breaks a rule; carries findings
    ├─ NotFound                 not_found      404   1   no record, graph, thread or turn of that name
    ├─ ToolFailed               tool_failed    502   1   a tool was called and raised
    ├─ Denied                   denied         403   5   the caller may not do that
    │  ├─ Unauthenticated       unauthenticated 401  5   this needs a key, and none or no valid one was given
    │  ├─ TooMany               too_many       429   5   more requests than a caller may send in this time
    │  ├─ QueryRefused          query_refused  403   5   the guard does not let this query through
    │  └─ Untrusted             untrusted      403   5   the workspace's Python is not trusted
    ├─ StoreError               store          503   4   the graph store failed
    │  ├─ StoreLocked           store_locked   503   4   another process writes to it
    │  ├─ StoreMissing          store_missing  503   4   nothing was indexed yet
    │  ├─ Busy                  busy           503   4   as much is running already as may
    │  └─ QueryTimeout          query_timeout  503   4   a query went over its time and was ended
    └─ NetworkError             network        502   4   something over the network could not be had

`code` is stable and meant for programs; the message is for people and names what, where and what to do (`hint`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from abi.findings import Finding

__all__ = [
    "AbiError",
    "ArgumentError",
    "Busy",
    "Changed",
    "Denied",
    "Invalid",
    "NetworkError",
    "NotAcceptable",
    "NotFound",
    "QueryRefused",
    "QuerySyntaxError",
    "QueryTimeout",
    "StoreError",
    "StoreLocked",
    "StoreMissing",
    "TooLarge",
    "TooMany",
    "ToolFailed",
    "Unauthenticated",
    "Unreadable",
    "Unsupported",
    "Untrusted",
    "UsageError",
    "WrongMedia",
    "WrongMethod",
]


class AbiError(Exception):
    """An error that a person can act on. Shown without a traceback."""

    code: ClassVar[str] = "error"
    http_status: ClassVar[int] = 500
    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, hint: str = "", details: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.details = details or {}

    def document(self) -> dict[str, Any]:
        """The one JSON shape of an error, on every face."""
        return {"error": {"code": self.code, "message": self.message, "details": self.details, "hint": self.hint}}


class UsageError(AbiError):
    code = "usage"
    http_status = 400
    exit_code = 2


class ArgumentError(UsageError):
    code = "arguments"
    http_status = 422


class Unsupported(UsageError):
    code = "unsupported"
    http_status = 501


class WrongMethod(UsageError):
    code = "wrong_method"
    http_status = 405


class NotAcceptable(UsageError):
    code = "not_acceptable"
    http_status = 406


class Changed(UsageError):
    code = "changed"
    http_status = 412


class TooLarge(UsageError):
    code = "too_large"
    http_status = 413


class WrongMedia(UsageError):
    code = "wrong_media"
    http_status = 415


class Unreadable(AbiError):
    code = "unreadable"
    http_status = 400
    exit_code = 3


class QuerySyntaxError(Unreadable):
    code = "query_syntax"


class Invalid(AbiError):
    """Carries every finding of the input, not the first one."""

    code = "invalid"
    http_status = 422
    exit_code = 1

    def __init__(self, message: str, findings: Sequence[Finding] = (), *, hint: str = "") -> None:
        super().__init__(message, hint=hint, details={"findings": [f.document() for f in findings]})
        self.findings = list(findings)


class NotFound(AbiError):
    code = "not_found"
    http_status = 404


class ToolFailed(AbiError):
    code = "tool_failed"
    http_status = 502


class Denied(AbiError):
    code = "denied"
    http_status = 403
    exit_code = 5


class Unauthenticated(Denied):
    code = "unauthenticated"
    http_status = 401


class TooMany(Denied):
    code = "too_many"
    http_status = 429


class QueryRefused(Denied):
    code = "query_refused"


class Untrusted(Denied):
    code = "untrusted"


class StoreError(AbiError):
    code = "store"
    http_status = 503
    exit_code = 4


class StoreLocked(StoreError):
    code = "store_locked"


class StoreMissing(StoreError):
    code = "store_missing"


class Busy(StoreError):
    code = "busy"


class QueryTimeout(StoreError):
    code = "query_timeout"


class NetworkError(AbiError):
    code = "network"
    http_status = 502
    exit_code = 4
