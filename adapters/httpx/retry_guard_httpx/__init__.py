"""A transport for httpx and httpx2 that makes each contracted write once.

`guarded(transport, guard)` puts the guard around a transport of a client. A contract whose tool
is a route, `POST https://api.example.com/v1/customers/{customer}/charges`, is that of the
requests that fit it. Their arguments are `path` (the names in braces), `query` and `body` (JSON
or a form): `path.customer`, `body.amount`. Importing this imports neither httpx nor httpx2.
"""

from retry_guard_httpx._guarded import guarded
from retry_guard_httpx._reads import reader

__all__ = ["guarded", "reader"]
