"""What the answer of an HTTP server proves."""

import json
import re
from collections.abc import Iterable
from typing import Any, Literal, cast

from retry_guard_outcomes._bodies import body_of
from retry_guard_outcomes._ends import Done, NotExecuted, Unknown
from retry_guard_outcomes._table import STATUSES, names
from retry_guard_outcomes._tries import SAFE

RUNNING = re.compile(
    r"in[ _-]?use|in[ _-]?progress|in[ _-]?flight|outstanding|concurrent|simultaneous"
    r"|(still|being|currently) (processing|processed|running)|still_processing",
    re.IGNORECASE,
)
"""What servers say of a key whose first request still runs."""

EXISTS = re.compile(
    r"already[ _-]?exist|duplicate|already (been )?(created|processed|posted|used)|must be unique"
    r"|unique constraint|exists already",
    re.IGNORECASE,
)
"""What servers say of an effect that is there already."""

MISMATCH = re.compile(
    r"idempotency_error|idempotency[ _-]key.{0,80}(different|mismatch|reused|already used)"
    r"|(different|other) (parameters|payload|body|request).{0,80}idempotency",
    re.IGNORECASE | re.DOTALL,
)
"""What servers say of a key that they know from another request: of that one they say nothing."""

FAILED_ITEMS = ("errors", "failed", "Failed", "failures", "UnprocessedItems", "FailedRecordCount")
"""Members of a successful answer that list what did not succeed."""


def of_answer(answer: object, origin: object = None) -> Done | NotExecuted | Unknown:
    """Return what an answer proves. `origin`: the exception that carried it."""
    status, error, text = status_of(answer), origin or answer, body_of(answer)
    past = list(_past(answer))
    if 200 <= status < 300:
        return _success(status, text, answer, error, past)
    if status == 409:
        return Unknown(error, hint=_conflict(text))
    verdict = STATUSES.get(status)
    if verdict is None or past or _method(answer) in SAFE or _counted_by_client(answer):
        return Unknown(error)
    return NotExecuted(error, rejected=verdict == "rejected" and not MISMATCH.search(text))


def _success(
    status: int, text: str, answer: object, error: object, past: list[tuple[str, int]]
) -> Done | Unknown:
    """Return what a 2xx proves: not more than that the last request was answered."""
    if status == 202:
        return Unknown(error, hint="accepted")
    if status == 207 or _failed_items(text):
        return Unknown(error, hint="partial")
    # After 301, 302 and 303 a client asks with GET: the answer is not that of the write.
    if _hides_redirects(answer) and _method(answer) in SAFE:
        return Unknown(error)
    if any(method not in SAFE and code in (301, 302, 303) for method, code in past):
        return Unknown(error)
    return Done(answer)


def status_of(answer: object) -> int:
    """Return the status of an answer; 0: it has none."""
    for name in ("status_code", "status", "code"):
        status = getattr(answer, name, None)
        if isinstance(status, int):
            return int(status)
    return 0


def _conflict(text: str) -> Literal["in_progress", "exists"] | None:
    if RUNNING.search(text):
        return "in_progress"
    return "exists" if EXISTS.search(text) else None


def _failed_items(text: str) -> bool:
    """Whether a body is an object that lists failures."""
    if not text.lstrip().startswith("{"):
        return False
    try:
        body: Any = json.loads(text)
    except ValueError:
        return False
    found = [cast("dict[str, Any]", body).get(name) for name in FAILED_ITEMS]
    return any(bool(item) and not isinstance(item, str) for item in found)


def _method(answer: object) -> str:
    request = getattr(answer, "_request", None) or getattr(answer, "request_info", None)
    request = request or getattr(answer, "__dict__", {}).get("request")
    bare = getattr(answer, "_original_response", None) or answer
    method = getattr(request or answer, "method", None) or getattr(bare, "_method", None)
    return str(method or "").upper()


def _hides_redirects(answer: object) -> bool:
    """Whether it comes from urllib.request, which follows redirects and keeps no trace of it."""
    return "http.HTTPResponse" in names(type(answer)) and hasattr(answer, "url")


def _past(answer: object) -> Iterable[tuple[str, int]]:
    """Yield the method and status of every request before the last; status 0: no answer."""
    earlier = cast("Iterable[object]", getattr(answer, "history", None) or ())
    for other in earlier:
        yield _method(other), status_of(other)
    for holder in (answer, getattr(answer, "raw", None)):
        tries = getattr(getattr(holder, "retries", None), "history", ())
        for entry in cast("Iterable[Any]", tries):
            # urllib3 notes the method that follows a 303, not the one before.
            method = "" if entry.status == 303 else str(entry.method or "")
            yield method.upper(), entry.status or 0


def _counted_by_client(answer: object) -> bool:
    """Whether the SDK says in its own header that this was not the first try."""
    return _count(answer) not in (None, "0")


def counting_client(error: BaseException) -> str:
    """Return the root of the SDK that says in its own header that this was its first try."""
    first = _count(getattr(error, "response", None)) == "0"
    return type(error).__module__.partition(".")[0] if first else ""


def _count(answer: object) -> str | None:
    request = getattr(answer, "_request", None)
    headers = cast("dict[str, str]", getattr(request, "headers", None) or {})
    return headers.get("x-stainless-retry-count")
