"""What goes over the wire, in the shapes of HTTP clients: a status, a JSON body, exceptions."""

from dataclasses import dataclass
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
        return self.status_code < 400

    def json(self) -> Json:
        """Return the body."""
        return self.body


def refusal(status_code: int, code: str, message: str, **fields: str) -> Response:
    """Return an error response; `fields` name what it is about."""
    return Response(status_code, {"error": {"code": code, "message": message, **fields}})


class ReadTimeout(TimeoutError):  # noqa: N818 - HTTP clients call it so, and it is known by name
    """No response came in time. What became of the request is unknown."""


class HTTPStatusError(Exception):
    """The response says that the request failed."""

    def __init__(self, response: Response) -> None:
        """Keep the response; the message is the server's."""
        error: Json = response.body.get("error", {})
        super().__init__(f"{response.status_code} {error.get('message', '')}".strip())
        self.response = response
