"""One episode served to whoever comes: to a function, or to any MCP client over stdio."""

from retry_guard_sandbox.serving._board import Board, join
from retry_guard_sandbox.serving._host import ASK, FINISH, Host, HostGoneError, Offer, Reply
from retry_guard_sandbox.serving._session import NOBODY, Said, Session
from retry_guard_sandbox.serving._stdio import serve

__all__ = [
    "ASK",
    "FINISH",
    "NOBODY",
    "Board",
    "Host",
    "HostGoneError",
    "Offer",
    "Reply",
    "Said",
    "Session",
    "join",
    "serve",
]
