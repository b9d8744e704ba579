"""What goes over the wire, in the shapes of HTTP clients: a status, a JSON body, exceptions."""

from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Request:
    """A call of a tool, as it travels. `arguments` are without the key."""

    tool: str
    arguments: Json
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Response:
    """What a service answers. `body` is JSON."""

    status_code: int
    body: Json

    @property
    def ok(self) -> bool:
        """Whether it says that the request succeeded."""
        return self.status_code < HTTPStatus.BAD_REQUEST

    @property
    def message(self) -> str:
        """What the server said about an error; empty where there was none."""
        error: Json = self.body.get("error", {})
        return str(error.get("message", ""))


def refusal(status_code: int, code: str, message: str, **fields: str) -> Response:
    """Return an error response; `fields` name what it is about."""
    return Response(status_code, {"error": {"code": code, "message": message, **fields}})


class ReadTimeout(TimeoutError):  # noqa: N818 - HTTP clients call it so, and it is known by name
    """No response came in time. What became of the request is unknown."""


class ReadError(ConnectionResetError):
    """The connection broke after the request was sent. What became of it is unknown."""


class APIStatusError(Exception):
    """The response says that the request failed. Named and shaped as in clients of HTTP APIs."""

    def __init__(self, response: Response) -> None:
        """Keep the response; the message is its status and what the server said."""
        super().__init__(f"{response.status_code} {response.message}".strip())
        self.response = response
