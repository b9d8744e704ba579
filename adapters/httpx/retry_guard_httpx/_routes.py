"""Routes: `METHOD scheme://host[:port]/path/{name}`, and which of them a request fits."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit

from retry_guard import Contract, UsageError
from retry_guard_httpx._contracts import check_contract

_PORTS = {"http": 80, "https": 443}
_NAME = re.compile(r"\{([A-Za-z_]\w*)\}", re.ASCII)

SAFE = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
"""Methods that write nothing."""

_METHODS = SAFE | {"POST", "PUT", "PATCH", "DELETE"}

Place = tuple[str, str, str, int, int]
"""Method, scheme, host, port, and how many segments the path has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One route. `names`: for each segment of the path its name in braces, or none."""

    contract: Contract
    place: Place
    segments: tuple[str, ...]
    names: tuple[str | None, ...]

    @property
    def order(self) -> tuple[bool, ...]:
        """Sorts the routes that fit one request: what is spelled out comes first."""
        return tuple(name is not None for name in self.names)

    @property
    def shape(self) -> tuple[str | None, ...]:
        """What two routes share that fit the same requests."""
        named = zip(self.segments, self.names, strict=True)
        return tuple(segment if name is None else None for segment, name in named)

    def values(self, segments: tuple[str, ...]) -> dict[str, str] | None:
        """Return the values of the names in a path; None: it does not fit."""
        found: dict[str, str] = {}
        for own, name, segment in zip(self.segments, self.names, segments, strict=True):
            if name is not None:
                found[name] = segment
            elif own != segment:
                return None
        return found


def split(path: str) -> tuple[str, ...]:
    """Return the segments of a path, decoded; empty ones, as in `//`, do not count."""
    parts = path.split("/")
    return tuple(unquote(segment, errors="surrogateescape") for segment in parts if segment)


def path_of(url: Any) -> str:
    """Return the path of a URL as it is on the wire."""
    path: bytes = url.raw_path.partition(b"?")[0]
    return path.decode("ascii")


class Router:
    """The contracts whose tool is a route."""

    def __init__(self, contracts: Mapping[str, Contract]) -> None:
        """Raises `UsageError` for a route or contract that no request can fit."""
        self._contracts, self._size = contracts, -1
        self._at: dict[Place, list[Route]] = {}
        self._renew()
        if not self._at:
            example = "POST https://api.example.com/v1/charges"
            raise UsageError(f"no contract is that of a route: name its tool like {example!r}")

    def find(self, request: Any) -> tuple[Route, dict[str, str]] | None:
        """Return the route of a request, and the values of its names; None: it fits none."""
        self._renew()
        url, segments = request.url, split(path_of(request.url))
        port: int = url.port or _PORTS.get(url.scheme, 0)
        place = (request.method.upper(), url.scheme, url.raw_host.decode(), port, len(segments))
        for route in self._at.get(place, ()):
            values = route.values(segments)
            if values is not None:
                return route, values
        return None

    def _renew(self) -> None:
        """Read the contracts again, if the guard was given another one."""
        contracts = list(self._contracts.values())
        if self._size == len(contracts):
            return
        found: dict[tuple[Place, tuple[str | None, ...]], Route] = {}
        for contract in contracts:
            if _is_route(contract.tool):
                route = _parsed(contract)
                other = found.setdefault((route.place, route.shape), route).contract.tool
                if other != contract.tool:
                    raise UsageError(f"{other!r} and {contract.tool!r} are one route: keep one")
        at: dict[Place, list[Route]] = {}
        for route in sorted(found.values(), key=lambda route: route.order):
            at.setdefault(route.place, []).append(route)
        self._at, self._size = at, len(contracts)


def _is_route(tool: str) -> bool:
    """Whether the name of a tool is meant to be a route."""
    method, space, _ = tool.partition(" ")
    return "://" in tool or (space != "" and method.upper() in _METHODS)


def _parsed(contract: Contract) -> Route:
    method, _, address = contract.tool.partition(" ")
    try:
        parts = urlsplit(address.strip())
        host, port = parts.hostname or "", parts.port or _PORTS.get(parts.scheme, 0)
    except ValueError:
        parts, host, port = urlsplit(""), "", 0
    plain = host.isascii() and not (parts.query or parts.fragment or parts.username)
    if not (method.isalpha() and method.isupper() and host and port and plain):
        advice = "write METHOD https://host/path/{name}, in ASCII and without a query"
        raise UsageError(f"{contract.tool!r} is no route: {advice}")
    segments = split(parts.path)
    names = tuple(_name_in(contract.tool, segment) for segment in segments)
    place = (method, parts.scheme, host, port, len(segments))
    check_contract(contract, [name for name in names if name is not None])
    return Route(contract=contract, place=place, segments=segments, names=names)


def _name_in(tool: str, segment: str) -> str | None:
    found = _NAME.fullmatch(segment)
    if found is None and ("{" in segment or "}" in segment):
        raise UsageError(f"{tool!r}: {segment!r} must be one {{name}}, or hold no brace")
    return None if found is None else found.group(1)
