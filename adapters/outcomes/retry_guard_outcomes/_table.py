"""What is known by name: classes, statuses, codes. What stands in no table proves nothing.

A class is named by the root of its module and its own name, so no library is imported.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Literal

Proof = Literal[
    "nothing_sent", "not_asked", "as_its_cause", "as_its_status", "as_its_code", "unknown"
]

ALIASES: Mapping[str, str] = {
    "httpx2": "httpx",
    "httpcore": "httpx",
    "httpcore2": "httpx",
    "mcp_types": "mcp",
    "fastmcp": "mcp",
}
"""Roots that share their class names with another."""

ERRORS: Mapping[str, Proof] = {
    # No connection was made, so no byte of the request left.
    "httpx.ConnectError": "nothing_sent",
    "httpx.ConnectTimeout": "nothing_sent",
    "httpx.PoolTimeout": "nothing_sent",
    "httpx.ProxyError": "nothing_sent",
    "urllib3.ConnectTimeoutError": "nothing_sent",
    "urllib3.NewConnectionError": "nothing_sent",
    "urllib3.EmptyPoolError": "nothing_sent",
    "urllib3.ClosedPoolError": "nothing_sent",
    "aiohttp.ClientConnectorError": "nothing_sent",
    "aiohttp.ConnectionTimeoutError": "nothing_sent",
    "aiohttp.ServerFingerprintMismatch": "nothing_sent",
    "aiohttp.ClientHttpProxyError": "nothing_sent",
    "builtins.ConnectionRefusedError": "nothing_sent",
    "socket.gaierror": "nothing_sent",
    "ssl.SSLCertVerificationError": "nothing_sent",
    # The call itself was refused before a connection was looked for, if in a request.
    "httpx.InvalidURL": "not_asked",
    "httpx.UnsupportedProtocol": "not_asked",
    "requests.MissingSchema": "not_asked",
    "requests.InvalidSchema": "not_asked",
    "requests.InvalidURL": "not_asked",
    "requests.InvalidJSONError": "not_asked",
    "urllib3.LocationValueError": "not_asked",
    "aiohttp.InvalidURL": "not_asked",
    "aiohttp.NonHttpUrlClientError": "not_asked",
    # These wrap another error, which decides.
    "requests.ConnectionError": "as_its_cause",
    "urllib3.MaxRetryError": "as_its_cause",
    "urllib3.ProxyError": "as_its_cause",
    "urllib3.SSLError": "as_its_cause",
    "urllib.URLError": "as_its_cause",
    # These carry an answer of the server.
    "httpx.HTTPStatusError": "as_its_status",
    "requests.HTTPError": "as_its_status",
    "aiohttp.ClientResponseError": "as_its_status",
    "urllib.HTTPError": "as_its_status",
    "*.APIStatusError": "as_its_status",
    "mcp.MCPError": "as_its_code",
    "mcp.McpError": "as_its_code",
    # Subclasses of the above that arise after something was sent.
    "requests.JSONDecodeError": "unknown",
    "aiohttp.ContentTypeError": "unknown",
    "aiohttp.TooManyRedirects": "unknown",
    "aiohttp.InvalidUrlRedirectClientError": "unknown",
    "aiohttp.NonHttpUrlRedirectClientError": "unknown",
}
"""What an exception proves: the first of its classes that is named here decides."""

Refusal = Literal["rejected", "refused"]

STATUSES: Mapping[int, Refusal] = {
    # The server read this call and refused it; it would refuse an equal one.
    400: "rejected",
    402: "rejected",
    422: "rejected",
    # Refused before the call was read, or for a reason that may be gone the next time.
    401: "refused",
    403: "refused",
    404: "refused",
    405: "refused",
    406: "refused",
    407: "refused",
    410: "refused",
    411: "refused",
    412: "refused",
    413: "refused",
    414: "refused",
    415: "refused",
    416: "refused",
    417: "refused",
    421: "refused",
    423: "refused",
    426: "refused",
    428: "refused",
    429: "refused",
    431: "refused",
    451: "refused",
}
"""Statuses that by convention mean that nothing ran.

Not here: 3xx (the answer to a write that ran is often a redirect), 408, 409, 424, 425, 499, 5xx.
"""

CODES: Mapping[int, str] = {
    -32700: "the message could not be parsed",
    -32601: "there is no such method",
    -32602: "the arguments are not valid",
}
"""JSON-RPC codes that prove that nothing ran, unless the message speaks of a result.

Not -32600: MCP libraries also use it after the tool ran, for a result without structured content.
"""

RESPONSES = frozenset(
    {
        "httpx.Response",
        "requests.Response",
        "urllib3.BaseHTTPResponse",
        "urllib3.HTTPResponse",
        "aiohttp.ClientResponse",
        "http.HTTPResponse",
        "urllib.addinfourl",
    }
)
"""Classes that are the answer of an HTTP server."""

PROCESSES = frozenset({"subprocess.Popen", "asyncio.Process", "anyio.Process"})
"""Classes that are a process, of which only the exit code is known."""


def names(kind: type[object]) -> list[str]:
    """Return the names of a class and of those that it inherits from, the nearest first."""
    found: list[str] = []
    for base in kind.__mro__:
        found += _names(base.__module__, base.__name__)
    return found


@lru_cache(maxsize=512)
def _names(module: str, name: str) -> tuple[str, str]:
    root = module.partition(".")[0]
    return f"{ALIASES.get(root, root)}.{name}", f"*.{name}"


def proof_of(kind: type[BaseException]) -> Proof:
    """Return what a class of exceptions proves."""
    for name in names(kind):
        if name in ERRORS:
            return ERRORS[name]
    return "unknown"
