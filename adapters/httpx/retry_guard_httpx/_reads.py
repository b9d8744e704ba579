"""Read-backs over HTTP, for a guard's `read`."""

import re
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, overload
from urllib.parse import quote

from retry_guard import UsageError

if TYPE_CHECKING:
    import httpx
    import httpx2

Read = Callable[[str, dict[str, Any]], Any]
AsyncRead = Callable[[str, dict[str, Any]], Coroutine[Any, Any, Any]]

_NAME = re.compile(r"\{(\w+)\}", re.ASCII)


@overload
def reader(client: "httpx.Client | httpx2.Client") -> Read: ...
@overload
def reader(client: "httpx.AsyncClient | httpx2.AsyncClient") -> AsyncRead: ...
def reader(client: Any) -> Any:
    """Return a function that makes read-backs with this client, for `read=` of a guard.

    The contract's `read_back.tool` is a route: `GET https://api.example.com/v1/charges`. Of its
    arguments, those that the path names in braces stand there, the others are the query. The
    result is the JSON of the answer. Whatever goes wrong is raised, and then nothing is believed.

    The function that an `AsyncClient` gets is awaited. Raises `UsageError` for what is no client.
    """
    names = {kind.__name__ for kind in type(client).__mro__}

    def read(tool: str, arguments: dict[str, Any]) -> object:
        url, query = _address(tool, arguments)
        return client.get(url, params=query).raise_for_status().json()

    async def read_async(tool: str, arguments: dict[str, Any]) -> object:
        url, query = _address(tool, arguments)
        answer = await client.get(url, params=query)
        return answer.raise_for_status().json()

    if "AsyncClient" in names:
        return read_async
    if "Client" in names:
        return read
    raise UsageError(f"client: give a Client or AsyncClient, not {type(client).__name__}")


def _address(tool: str, arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return URL and query of a read."""
    method, _, template = tool.partition(" ")
    if method != "GET" or "://" not in template:
        raise UsageError(f"the read-back {tool!r} is no route: write GET https://host/path")
    named = set(_NAME.findall(template))
    if not named <= arguments.keys():
        raise UsageError(f"the read-back {tool!r} lacks {min(named - arguments.keys())}: name it")
    url = _NAME.sub(lambda found: quote(str(arguments[found[1]]), safe=""), template)
    return url, {name: value for name, value in arguments.items() if name not in named}
