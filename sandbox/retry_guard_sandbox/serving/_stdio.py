"""An MCP server on standard input and output: one line for each message, and nothing else."""

from collections.abc import Callable
from typing import BinaryIO

from retry_guard_sandbox.serving._host import Host, HostGoneError
from retry_guard_sandbox.serving._mcp import Protocol
from retry_guard_sandbox.serving._messages import (
    INTERNAL_ERROR,
    Incoming,
    MalformedError,
    RpcError,
    encoded,
    error,
    parsed,
    result,
)
from retry_guard_sandbox.world._http import Json


def serve(
    host: Host,
    incoming: BinaryIO,
    outgoing: BinaryIO,
    *,
    settle: Callable[[], None] = lambda: None,
) -> None:
    """Answer until the input ends, or nobody reads the answers.

    What is wrong with a message is said to whoever sent it. `settle` is called before each answer
    is given.
    """
    protocol = Protocol(host)
    for line in incoming:
        if line.isspace():
            continue
        answered = _answered(protocol, line)
        if answered is None:
            continue
        settle()
        try:
            outgoing.write(encoded(answered))
            outgoing.flush()
        except ConnectionError:
            return


def _answered(protocol: Protocol, line: bytes) -> Json | None:
    """Return what to say to a line; None: nothing."""
    try:
        message = parsed(line)
    except MalformedError as wrong:
        return error(None, wrong)
    return None if message.kind != "request" else _to_request(protocol, message)


def _to_request(protocol: Protocol, message: Incoming) -> Json:
    try:
        return result(message.id, protocol.answer(message.method, message.params))
    except RpcError as wrong:
        return error(message.id, wrong)
    except HostGoneError as gone:
        return error(message.id, RpcError(INTERNAL_ERROR, str(gone)))
