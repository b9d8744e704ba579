"""JSON-RPC 2.0, one message a line: what a line holds, and what is written."""

import json
from collections.abc import Mapping
from math import isfinite
from typing import Any, NoReturn, TypeGuard

PARSE_ERROR, INVALID_REQUEST, INVALID_PARAMS, INTERNAL_ERROR = -32700, -32600, -32602, -32603
NO_METHOD, CLOSED = -32601, -32000
OURS = "retry-guard/"
"""How names in `_meta` begin that only the guard may give."""

Message = dict[str, Any]
Name = tuple[type, str | int | float]
"""An id with its type: 1 and 1.0 are one id; 1, "1" and true are not."""


class UnreadableError(ValueError):
    """The line holds no JSON that can be read."""


class BeyondError(UnreadableError):
    """It may be JSON, and what it holds cannot be held here: too deep, too long a number, NaN."""


def read(line: bytes) -> Any:
    """Return what a line holds. Raises `UnreadableError`, and `BeyondError`."""
    return _read(_DECODER, line)


def read_odd(line: bytes) -> Any:
    """Return what a line holds, which may be NaN or an infinity too. Raises as `read` does."""
    return _read(_ODD, line)


def _read(decoder: json.JSONDecoder, line: bytes) -> Any:
    try:
        return decoder.decode(line.decode())
    except json.JSONDecodeError as error:
        raise UnreadableError(f"it is wrong from character {error.pos + 1} on") from None
    except UnicodeDecodeError:
        raise UnreadableError("it is no UTF-8 text") from None
    except BeyondError:
        raise
    except RecursionError:
        raise BeyondError("it is nested too deep") from None
    except ValueError:
        raise BeyondError("a number in it has too many digits") from None


def _refuse(text: str) -> NoReturn:
    raise BeyondError(f"{text} is no JSON")


_DECODER, _ODD = json.JSONDecoder(parse_constant=_refuse), json.JSONDecoder()
_ENCODER = json.JSONEncoder(separators=(",", ":"), allow_nan=False)


def is_object(value: object) -> TypeGuard[Message]:
    """Whether it is a JSON object."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[Any]]:
    """Whether it is a JSON array."""
    return isinstance(value, list)


def object_in(holder: Mapping[str, Any], name: str) -> Message:
    """Return a member that is an object; empty where there is none."""
    value: Any = holder.get(name)
    return value if isinstance(value, dict) else {}  # pyright: ignore[reportUnknownVariableType] - of JSON


def is_message(value: object) -> TypeGuard[Message]:
    """Whether it is a request, a notification or a response."""
    if not is_object(value) or "jsonrpc" not in value:
        return False
    return "method" in value or "result" in value or "error" in value


def is_request(message: Mapping[str, Any]) -> bool:
    """Whether an answer is due."""
    return isinstance(message.get("method"), str) and "id" in message


def is_response(message: Mapping[str, Any]) -> bool:
    """Whether it is the answer to a request."""
    return "method" not in message and ("result" in message or "error" in message)


def name_of(given: object) -> Name | None:
    """Return an id as a name; None for what is no id."""
    if isinstance(given, bool) or not isinstance(given, str | int | float):
        return None
    return (str if isinstance(given, str) else float), given


def params_of(message: Mapping[str, Any]) -> Message:
    """Return the parameters; empty where there are none that have names."""
    return object_in(message, "params")


def meta_of(holder: Mapping[str, Any]) -> Message:
    """Return `_meta` of parameters or of a result; empty where there is none."""
    return object_in(holder, "_meta")


def encoded(message: Mapping[str, Any] | list[Message]) -> bytes:
    """Return a message as one line; what is no number of JSON (NaN, an infinity) is null in it.

    Raises `RecursionError` for what is nested too deep.
    """
    try:
        text = _ENCODER.encode(message)
    except ValueError:
        text = _ENCODER.encode(_finite(message))
    return text.encode() + b"\n"


def _finite(value: Any) -> Any:
    if is_object(value):
        return {name: _finite(each) for name, each in value.items()}
    if is_list(value):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not isfinite(value) else value


def request(given: str, method: str, params: Mapping[str, Any]) -> Message:
    """Return a request with that id."""
    return {"jsonrpc": "2.0", "id": given, "method": method, "params": params}


def result(given: object, value: object) -> Message:
    """Return the answer to a request with that id."""
    return {"jsonrpc": "2.0", "id": given, "result": value}


def failure(given: object, code: int, message: str) -> Message:
    """Return the answer to a request that cannot be carried out."""
    return {"jsonrpc": "2.0", "id": given, "error": {"code": code, "message": message}}


def without_ours(message: Message) -> Message | None:
    """Return a response without what only the guard may say; None: it says nothing of that."""
    found = message.get("result")
    if not is_object(found) or not any(map(_is_ours, meta_of(found))):
        return None
    rest = {name: value for name, value in meta_of(found).items() if not _is_ours(name)}
    kept = {name: value for name, value in found.items() if name != "_meta"}
    return {**message, "result": {**kept, **({"_meta": rest} if rest else {})}}


def _is_ours(name: object) -> bool:
    return str(name).lower().startswith(OURS)
