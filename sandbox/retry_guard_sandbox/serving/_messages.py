"""JSON-RPC 2.0, one message a line: what comes in, and what goes out."""

import json
import math
from dataclasses import dataclass
from typing import Literal, NoReturn, cast

from retry_guard_sandbox.world._http import Json

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND = -32700, -32600, -32601
INVALID_PARAMS, INTERNAL_ERROR, UNSUPPORTED_VERSION = -32602, -32603, -32022

Id = str | int | float | None


class RpcError(Exception):
    """A request is answered with an error. `code` and `data` as in JSON-RPC."""

    def __init__(self, code: int, message: str, data: Json | None = None) -> None:
        """Keep them."""
        super().__init__(message)
        self.code, self.data = code, data


class MalformedError(RpcError):
    """What came is no message: its id, if it has one, is not known."""


@dataclass(frozen=True, slots=True)
class Incoming:
    """A message. `kind`: only a request is answered."""

    kind: Literal["request", "notification", "response"]
    id: Id = None
    method: str = ""
    params: Json | None = None


def parsed(line: bytes) -> Incoming:
    """Read a line; raises `MalformedError`."""
    try:
        message: object = json.loads(line, parse_constant=_refuse, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        raise MalformedError(PARSE_ERROR, f"no JSON: {error}") from error
    if isinstance(message, list):
        raise MalformedError(INVALID_REQUEST, "batches are no part of this protocol")
    if not isinstance(message, dict):
        raise MalformedError(INVALID_REQUEST, "a message is an object")
    return _incoming(cast("Json", message))


def _incoming(message: Json) -> Incoming:
    method, name = message.get("method"), message.get("id")
    if method is None and ("result" in message or "error" in message):
        return Incoming("response")
    if message.get("jsonrpc") != "2.0" or not isinstance(method, str):
        raise MalformedError(INVALID_REQUEST, "give jsonrpc 2.0 and a method")
    params: object = message.get("params", {})
    if "id" not in message:
        return Incoming("notification", None, method)
    if isinstance(name, bool) or not isinstance(name, str | int | float):
        raise MalformedError(INVALID_REQUEST, "an id is a string or a number")
    given = cast("Json", params) if isinstance(params, dict) else None
    return Incoming("request", name, method, given)


def result(name: Id, value: Json) -> Json:
    """Return the answer to a request."""
    return {"jsonrpc": "2.0", "id": name, "result": value}


def error(name: Id, wrong: RpcError) -> Json:
    """Return the answer to a request that cannot be carried out."""
    told: Json = {"code": wrong.code, "message": str(wrong)}
    if wrong.data is not None:
        told["data"] = wrong.data
    return {"jsonrpc": "2.0", "id": name, "error": told}


def encoded(message: Json) -> bytes:
    """Return a message as one line."""
    return json.dumps(message, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def _refuse(text: str) -> NoReturn:
    raise ValueError(f"{text} is no JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is too large")
    return number
