"""What a server over HTTP states of its own tools, in both generations, without anybody's trust."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from mcp_proxy_client import META, Json, Proxy, texts, turn
from mcp_proxy_http_sites import Got, RawServer, Step, UrlSite, done, result, said, usual
from mcp_proxy_stated import KEYED, READ_BACK, reading, tool

POST = {"text": "hello"}
STATED: list[Json] = [KEYED, {"read_back": READ_BACK}, {**KEYED, "effect": "idempotent"}]


def opened(proxy: Proxy, *, stateless: bool) -> Json:
    """Begin as a client of that generation, and ask for the tools; return its `_meta`."""
    meta: Json = dict(META) if stateless else {}
    if stateless:
        proxy.answer(proxy.ask("server/discover", {"_meta": META}))
    else:
        proxy.initialize()
    listed = proxy.result(proxy.ask("tools/list", {"_meta": meta}))
    assert "key" in str(listed)  # nothing is hidden of what nobody trusts
    return meta


@pytest.mark.parametrize("stateless", [False, True])
@pytest.mark.parametrize("stated", STATED)
def test_a_lost_answer_is_never_followed_by_another_send(
    tmp_path: Path, stated: Json, stateless: bool
) -> None:
    site = UrlSite(tmp_path, "contracts: []")
    site.forked = True

    def script(got: Got) -> Sequence[Step]:
        if got.method == "tools/list":
            return (said(result(got, {"tools": [tool("post", stated), reading()]})),)
        if got.message.get("params", {}).get("name") == "post":
            return ("reset",)
        return usual(got) or (said(done(got)),)

    with RawServer(script) as server:
        site.url = server.url
        with site.proxy() as proxy:
            meta = opened(proxy, stateless=stateless)
            for name in ("t1", "t2"):
                unknown = proxy.called("post", POST, _meta={**meta, **turn(name)})
                assert texts(unknown).startswith("It is not known whether `post` took effect")
            assert [got.message["params"]["arguments"] for got in server.said("tools/call")] == [
                POST
            ]
