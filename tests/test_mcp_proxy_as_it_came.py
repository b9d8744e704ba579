"""What the server says that is odd: as it came where nothing is guarded, else as the guard can."""

import json
import sys
from pathlib import Path

import pytest

from mcp_proxy_client import Site, wait_for

_SERVER = """\
import json, os, sys
for line in sys.stdin:
    asked = json.loads(line)
    if asked.get("method") != "say" and "id" in asked:
        said = {"jsonrpc": "2.0", "id": asked["id"], "result": {"serverInfo": {}}}
        os.write(1, json.dumps(said).encode() + b"\\n")
    elif "id" in asked:
        os.write(1, bytes.fromhex(asked["params"]["hex"]))
"""
_DEEP, _LONG = b"[" * 1100 + b"]" * 1100, b"1" + b"0" * 4500
ANSWERS = {
    "no UTF-8": b'{"jsonrpc":"2.0","id":ID,"result":{"t":"caf\xe9"}}\n',
    "too deep": b'{"jsonrpc":"2.0","id":ID,"result":{"t":' + _DEEP + b"}}\n",
    "too long a number": b'{"jsonrpc":"2.0","id":ID,"result":{"id":3,"n":' + _LONG + b"}}\n",
    "both, and no UTF-8": b'{"result":["\xe9",' + _LONG + b"," + _DEEP + b'],"id":ID}\n',
    "no jsonrpc": b'{"id":ID,"result":{"t":1}}\n',
    "spaces, NaN, names twice": b' {"jsonrpc" : "2.0","id":ID,"result":{"a":1.50,"a":NaN}} \r\n',
    "what only a guard says": b'{"jsonrpc":"2.0","id":ID,"result":{"_meta":{"retry-guard/x":1}}}\n',
}
OTHERS = {
    "a record of a log": b'{"level":"info","text":"caf\xe9"}\n',
    "a list of anything": b'[1,"two",{}]\n',
    "an empty list": b"[]\n",
    "a request that is too deep": b'{"jsonrpc":"2.0","id":"s","method":"x","params":'
    + _DEEP
    + b"}\n",
    "a number that is too long": b'{"jsonrpc":"2.0","method":"x","params":{"n":' + _LONG + b"}}\n",
}


@pytest.mark.parametrize("mode", ["off", "observe"])
def test_all_that_is_json_passes_as_it_came_where_nothing_is_guarded(
    mode: str, tmp_path: Path
) -> None:
    want: list[bytes] = []
    with Site(tmp_path).proxy("--mode", mode, server=(sys.executable, "-c", _SERVER)) as proxy:
        proxy.initialize()
        for at, line in enumerate((*ANSWERS.values(), *OTHERS.values())):
            want.append(line.replace(b"ID", str(at + 100).encode()))
            proxy.ask("say", {"hex": want[-1].hex()}, at + 100)
        proxy.ask("say", {"hex": b"plain noise\n".hex()})
        assert proxy.said("plain noise"), "what is no JSON is shown to the operator in any mode"
        wait_for(lambda: len(proxy.raw) > len(want))
        got = proxy.raw[1:]
    assert got == want


@pytest.mark.parametrize(
    "line",
    [
        b'{"result":{"id":7,"n":LONG,"content":[]},"jsonrpc":"2.0","id":ID}',
        b'{"result":{"id":7,"n":LONG},"id":ID,"jsonrpc":"2.0"}',
        b'{"jsonrpc":"2.0","id":ID,"result":{"method":"x","n":LONG,"id":7}}',
        b'{"id":ID,"jsonrpc":"2.0","result":DEEP}',
        b'{"error":{"code":1,"message":"\\"id\\":7}","data":LONG},"id":ID}',
        b' {"x":{"id":7},"error":{"data":LONG},"id":ID,"y":{"id":7,"method":"z"}} ',
        b'{"result":"' + b"x" * 9_000_000 + b'","n":LONG,"o":{"id":7},"jsonrpc":"2.0","id":ID}',
    ],
)
@pytest.mark.parametrize("given", [8, "eight", 'e"8'])
def test_an_answer_that_cannot_be_read_is_an_error_with_its_own_id(
    line: bytes, given: str | int, tmp_path: Path
) -> None:
    whole = line.replace(b"LONG", _LONG).replace(b"DEEP", _DEEP)
    whole = whole.replace(b"ID", json.dumps(given).encode()) + b"\n"
    with Site(tmp_path).proxy(server=(sys.executable, "-c", _SERVER)) as proxy:
        proxy.ask("say", {"hex": ""}, 7)
        proxy.ask("say", {"hex": whole.hex()}, given)
        answer = proxy.next()
        assert answer["id"] == given
        assert "could not be read" in answer["error"]["message"]
        assert proxy.silent()
