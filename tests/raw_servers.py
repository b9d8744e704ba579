"""Servers of a few lines, in threads, for the ways in which a connection can end."""

import socket
import struct
import threading
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager

Serve = Callable[[socket.socket], None]


@contextmanager
def serving(*turns: Serve, last_closes: bool = False) -> Generator[str]:
    """Serve one connection after the other; give the address.

    The last turn goes on for ever, or, with `last_closes`, the port is closed before it begins:
    whoever comes next is refused.
    """
    listener = socket.create_server(("127.0.0.1", 0))
    host, port = listener.getsockname()[:2]
    thread = threading.Thread(target=_serve, args=(listener, turns, last_closes), daemon=True)
    thread.start()
    try:
        yield f"{host}:{port}"
    finally:
        stop = socket.socket()
        with closing(stop):
            stop.connect_ex((host, port))
        thread.join(5)
        listener.close()


def _serve(listener: socket.socket, turns: tuple[Serve, ...], last_closes: bool) -> None:
    for number in range(1000):
        turn = turns[min(number, len(turns) - 1)]
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        with connection:
            if last_closes and number == len(turns) - 1:
                listener.close()
            request = head(connection)
            if request:
                turn(connection)
            elif number >= len(turns) - 1:
                return


def head(connection: socket.socket) -> bytes:
    """Read one whole request; empty: the client only connected."""
    connection.settimeout(60)
    data = b""
    try:
        while b"\r\n\r\n" not in data:
            more = connection.recv(65536)
            if not more:
                return b""
            data += more
        _body(connection, data)
    except OSError:
        return b""
    return data


def _body(connection: socket.socket, data: bytes) -> None:
    fields, _, body = data.partition(b"\r\n\r\n")
    for line in fields.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            left = int(line.partition(b":")[2]) - len(body)
            while left > 0:
                left -= len(connection.recv(left))


def reset(connection: socket.socket) -> None:
    """End with a RST."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def close(connection: socket.socket) -> None:
    """End without an answer."""


def silent(connection: socket.socket) -> None:
    """Answer nothing until the client has gone."""
    connection.settimeout(60)
    connection.recv(1)


def answer(status: int, *headers: str, body: bytes = b"{}", length: int | None = None) -> Serve:
    """Answer with a status; `length` is what the header says of the body."""

    def serve(connection: socket.socket) -> None:
        size = len(body) if length is None else length
        lines = [f"HTTP/1.1 {status} Status", f"Content-Length: {size}", *headers]
        if "Connection: keep-alive" not in headers:
            lines.append("Connection: close")
        connection.sendall("\r\n".join([*lines, "", ""]).encode() + body)

    return serve


def garbage(connection: socket.socket) -> None:
    """Answer what is not HTTP."""
    connection.sendall(b"hello, this is not HTTP\r\n\r\n")


@contextmanager
def refused() -> Generator[str]:
    """An address where nobody listens: the port is bound, so that none else gets it."""
    with closing(socket.socket()) as bound:
        bound.bind(("127.0.0.1", 0))
        host, port = bound.getsockname()
        yield f"{host}:{port}"


@contextmanager
def full() -> Generator[str]:
    """An address where connections are never made, since its queue is full."""
    with closing(socket.create_server(("127.0.0.1", 0), backlog=0)) as listener:
        host, port = listener.getsockname()[:2]
        waiting = [socket.socket() for _ in range(6)]
        for client in waiting:
            client.setblocking(False)
            client.connect_ex((host, port))
        yield f"{host}:{port}"
        for client in waiting:
            client.close()
