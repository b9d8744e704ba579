"""The request that carries recorded arguments and a key."""

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

from retry_guard_httpx._arguments import kind_of
from retry_guard_httpx._routes import Route, path_of, split


def request_of(
    route: Route,
    own: Mapping[str, Any],
    arguments: Mapping[str, Any],
    extra: Mapping[str, str],
    request: Any,
) -> Any:
    """Return the request to send. `own`: the arguments of `request`.

    A part that is the same object goes out in the bytes of `request`. Everything that is no
    argument, such as authorisation, is always that of `request`.
    """
    same = {part for part in ("path", "query", "body") if arguments.get(part) is own.get(part)}
    url, content = request.url, request.content
    if not {"path", "query"} <= same:
        url = url.copy_with(raw_path=_target(route, arguments, path_of(url)).encode("ascii"))
    if "body" not in same:
        content = _written(arguments.get("body"), kind_of(request))
    keys = {name.removeprefix("header:"): key for name, key in extra.items()}
    replaced = {b"content-length", *(name.lower().encode() for name in keys)}
    headers = [pair for pair in request.headers.raw if pair[0].lower() not in replaced]
    headers += [(name.encode(), key.encode()) for name, key in keys.items()]
    return type(request)(
        request.method, url, headers=headers, content=content, extensions=request.extensions
    )


def _target(route: Route, arguments: Mapping[str, Any], given: str) -> str:
    """Return path and query of the arguments. `given`: the path of an equal request."""
    values = arguments.get("path", {})
    parts = zip(split(given), route.names, strict=True)
    segments = [part if name is None else str(values[name]) for part, name in parts]
    path = "".join(f"/{quote(segment, safe='')}" for segment in segments)
    query = urlencode(arguments.get("query", {}), doseq=True)
    return path + "/" * given.endswith("/") + "?" * (query != "") + query


def _written(body: Any, kind: str) -> bytes:
    if body is None:
        return b""
    if kind == "form":
        return urlencode(body, doseq=True).encode()
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
