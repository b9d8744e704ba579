"""Mode `observe`: nothing changes on the way, and what a guard would have done can be read."""

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from mcp_proxy_client import META, Proxy, Site, turn, wait_for
from mcp_proxy_stated import KEYED, POST, command, lists, reading, tool
from retry_guard_ledgers import beside
from retry_guard_mcp_proxy import Kept, KeptError, observed

CHARGE = {"customer": "c1", "amount": 5, "key": "model-1"}
OBSERVE = ("--mode", "observe")


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def folder(site: Site) -> Path:
    found = beside(site.ledger)
    assert found is not None
    return found


def seen(site: Site, count: int) -> list[dict[str, Any]]:
    """What was observed, once there is so much of it."""
    wait_for(lambda: len(observed(folder(site))) >= count)
    return observed(folder(site))


def would(site: Site, count: int) -> list[tuple[str, str]]:
    return [(one["tool"], one["would"]) for one in seen(site, count)]


def play(proxy: Proxy) -> None:
    """Say what a client says, odd things among it."""
    proxy.initialize()
    proxy.answer(proxy.ask("tools/list", given="list"))
    proxy.answer(proxy.call("charge", CHARGE, "a"))
    proxy.answer(proxy.call("charge", CHARGE, "b"))
    proxy.answer(proxy.call("union", {"x": 1.50}, 7))
    proxy.answer(proxy.call("post", POST, "c", _meta={"progressToken": "t"}))
    proxy.answer(proxy.call("charge", None, "d"))
    proxy.tell("tools/call", {"name": "post", "arguments": POST})
    proxy.write(b"no JSON\n")
    proxy.next()
    proxy.send([{"jsonrpc": "2.0", "id": "e", "method": "tools/list"}])
    proxy.next()
    proxy.answer(proxy.ask("ping"))


def test_all_passes_in_both_directions_byte_for_byte(tmp_path: Path) -> None:
    """Keys, lists, marks that only a guard may give: a direct connection has the same bytes."""
    sites: list[Site] = []
    said: list[list[bytes]] = []
    for name in ("direct", "observed"):
        (tmp_path / name).mkdir()
        sites.append(Site(tmp_path / name))
        sites[-1].fates("ok", "fake", "ok", "ok", "ok")
        with sites[-1].direct() if name == "direct" else sites[-1].proxy(*OBSERVE) as proxy:
            play(proxy)
        said.append(proxy.raw)
    assert said[0] == said[1]
    assert sites[0].heard == sites[1].heard
    assert len(sites[0].effects) == len(sites[1].effects)


def test_what_a_guard_would_have_done_is_kept_for_other_processes(site: Site) -> None:
    with site.proxy(*OBSERVE) as proxy:
        for name in ("t1", "t1", "t2"):
            assert not proxy.called("post", POST, _meta=turn(name))["isError"]
        site.fates("kill_after", "kill_after")
        assert "error" in proxy.answer(proxy.call("post", {"text": "lost"}))
        assert "error" in proxy.answer(proxy.call("charge", CHARGE))
        proxy.called("list_charges", {})
        assert would(site, 5) == [
            ("post", "send"),
            ("post", "replay"),
            ("post", "send"),
            ("post", "ask"),
            ("charge", "reissue"),
        ]
    assert len(site.effects) == 5
    first = seen(site, 5)[0]
    assert (first["scope"], first["turn"]) == ("acme", "t1")


def test_calls_that_run_at_once_are_told_apart(site: Site) -> None:
    site.fates("held", "held")
    with site.proxy(*OBSERVE) as proxy:
        given = [proxy.call("post", POST, _meta=turn("t")) for _ in range(2)]
        wait_for(lambda: len(site.calls) == 2)
        site.go()
        assert [proxy.result(one)["isError"] for one in given] == [False, False]
        found = sorted(one for _, one in would(site, 2))
    assert found in (["join", "send"], ["replay", "send"])
    assert len(site.effects) == 2


def test_a_call_that_the_client_cancels_is_cancelled_at_the_server_too(site: Site) -> None:
    site.fates("hang_after")
    with site.proxy(*OBSERVE) as proxy:
        given = proxy.call("post", POST)
        wait_for(lambda: len(site.effects) == 1)
        proxy.cancel(given)
        assert would(site, 1) == [("post", "ask")]
        wait_for(lambda: any("notifications/cancelled" in line for line in site.heard))


def test_an_input_that_the_server_wants_passes(site: Site) -> None:
    site.fates("input", "ok")
    with site.proxy(*OBSERVE) as proxy:
        first = proxy.called("post", POST, _meta=META)
        assert first["resultType"] == "input_required"
        state = first["requestState"]
        again = proxy.called("post", POST, _meta=META, requestState=state, inputResponses={})
        assert not again["isError"]
        assert {each for _, each in would(site, 2)} == {"send"}


def test_a_contract_that_a_server_states_is_observed_as_it_would_count(tmp_path: Path) -> None:
    site = Site(tmp_path, "contracts: []")
    lists(site, [tool("post", KEYED), reading()])
    site.fates("kill_after")
    with site.proxy(*OBSERVE) as proxy:
        proxy.answer(proxy.ask("tools/list"))
        proxy.answer(proxy.call("post", POST))
        assert would(site, 1) == [("post", "ask")]
    assert [one["would"] for one in observed(folder(site))] == ["ask"]


def test_observed_calls_never_meet_guarded_ones(site: Site) -> None:
    with site.proxy(*OBSERVE) as proxy:
        proxy.called("post", POST)
        seen(site, 1)
    with site.proxy() as proxy:
        assert "_meta" not in proxy.called("post", POST)
    assert len(site.calls) == 2


def test_mode_off_lets_all_pass_and_keeps_nothing(site: Site) -> None:
    with site.direct() as direct:
        direct.answer(direct.ask("tools/list"))
    with site.proxy("--mode", "off") as proxy:
        proxy.answer(proxy.ask("tools/list"))
        assert proxy.raw == direct.raw
        for _ in range(2):
            assert "_meta" not in proxy.called("charge", CHARGE)
    assert not (site.folder / "guard.db").exists()
    assert not folder(site).exists()
    assert "contract" not in proxy.errors


@pytest.mark.parametrize("url", ["", "nonsense", "sqlite:////no/such/folder/guard.db", "damaged"])
@pytest.mark.parametrize("contracts", [None, "contracts: [{tol: charge}]"])
def test_mode_off_lets_all_pass_where_the_ledger_and_the_contracts_are_broken(
    site: Site, url: str, contracts: str | None
) -> None:
    """What is broken there may be why it is switched off."""
    file, ledger = site.folder / "contracts.yaml", site.folder / "guard.db"
    file.unlink() if contracts is None else file.write_text(contracts)
    ledger.write_bytes(b"no ledger" * 999)
    given = ("--ledger", site.ledger if url == "damaged" else url, "--server", "")
    with site.proxy("--mode", "off", *given) as proxy:
        proxy.initialize()
        for _ in range(2):
            assert not proxy.called("charge", CHARGE)["isError"]
    assert len(site.calls) == 2
    assert ledger.read_bytes() == b"no ledger" * 999
    assert not folder(site).exists()
    assert "retry-guard" not in proxy.errors


def test_the_command_shows_what_was_observed_as_a_table_and_as_json(site: Site) -> None:
    with site.proxy(*OBSERVE) as proxy:
        for _ in range(2):
            proxy.called("post", POST, _meta=turn("t1"))
        seen(site, 2)
    shown = command(site, "ledger", "list", "--observed")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "replay" in shown.stdout
    assert "2 observed: 1 replay, 1 send" in shown.stdout
    lines = json.loads(command(site, "ledger", "list", "--observed", "--json").stdout)
    assert [line["would"] for line in lines] == ["send", "replay"]
    other = command(site, "ledger", "list", "--observed", "--scope", "other")
    assert "0 observed" in other.stdout
    wrong = command(site, "ledger", "list", "--observed", "--state", "open")
    assert (wrong.returncode, wrong.stderr.count("\n")) == (2, 1)


def test_what_is_kept_is_for_its_owner_and_links_are_not_followed(site: Site) -> None:
    with site.proxy(*OBSERVE) as proxy:
        proxy.answer(proxy.ask("tools/list"))
        proxy.called("post", POST)
        seen(site, 1)
    place = folder(site)
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    files = sorted(place.iterdir())
    assert [path.name.partition(".")[2] for path in files] == ["observed.jsonl", "seen.json"]
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    files[0].unlink()
    files[0].symlink_to(site.folder / "elsewhere")
    with pytest.raises(KeptError):
        Kept(place, json.loads(files[1].read_text())["server"]).observe({"at": 1.0})
    assert not (site.folder / "elsewhere").exists()


def test_a_file_of_observations_does_not_grow_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("retry_guard_mcp_proxy._kept.MOST", 1000)
    kept = Kept(tmp_path / "x", "server:1")
    for number in range(100):
        kept.observe({"at": float(number), "would": "send"})
    assert sum(path.stat().st_size for path in (tmp_path / "x").iterdir()) < 2500
    assert observed(tmp_path / "x")[-1]["at"] == 99.0


def test_half_a_line_of_a_process_that_was_killed_costs_no_other(tmp_path: Path) -> None:
    kept = Kept(tmp_path / "x", "server:1")
    kept.observe({"at": 1.0})
    with next((tmp_path / "x").iterdir()).open("a") as file:
        file.write('{"at": 2.0, "wou\n[1]\n{"at": "x"}\n')
    kept.observe({"at": 3.0})
    assert [one["at"] for one in observed(tmp_path / "x")] == [1.0, 3.0]


def test_where_nothing_can_be_kept_the_calls_pass_all_the_same(site: Site) -> None:
    folder(site).write_text("a file is in the way")
    with site.proxy(*OBSERVE) as proxy:
        proxy.answer(proxy.ask("tools/list"))
        assert not proxy.called("post", POST)["isError"]
        assert proxy.said("an observation was not kept")
    assert len(site.effects) == 1


def test_doctor_names_the_servers_and_what_is_not_guarded(tmp_path: Path) -> None:
    site = Site(tmp_path, "contracts: [{tool: charge}, {tool: echo, effect: read}]")
    names = [tool("charge"), tool("echo"), tool("post"), tool("send", KEYED), reading()]
    lists(site, names)
    with site.proxy() as proxy:
        proxy.answer(proxy.ask("tools/list"))
        wait_for(lambda: any(folder(site).glob("*.seen.json")))
    done = command(site, "doctor")
    lines = [" ".join(line.split()) for line in done.stdout.splitlines() if "python" in line]
    assert done.returncode == 1
    told = {line.partition(" (seen")[0].split(" ", 2)[2]: line.split()[0] for line in lines}
    assert told == {
        "guarded: charge": "ok",
        "read, so they pass: echo, list_charges": "ok",
        "guarded, and only a person settles them, since nobody trusts what the server states: "
        "send": "MEND",
        "without a contract, so unguarded: post": "MEND",
    }


def test_doctor_says_which_file_is_damaged(site: Site) -> None:
    place = folder(site)
    place.mkdir()
    (place / "x.seen.json").write_text("{")
    os.chmod(place / "x.seen.json", 0o600)  # noqa: PTH101 - a mode, whatever the umask
    with site.proxy() as proxy:
        proxy.called("post", POST)
    done = command(site, "doctor")
    assert done.returncode == 1
    assert "x.seen.json: is damaged" in done.stdout


def test_what_was_only_observed_is_nobodys_to_settle(tmp_path: Path) -> None:
    """Nor does `doctor` count it as unresolved, or `ledger list` show it, unless asked."""
    site = Site(tmp_path, "contracts: [{tool: post, key: {param: key}}]")
    lists(site, [tool("post")])
    site.fates("kill_after")
    with site.proxy(*OBSERVE) as proxy:
        proxy.answer(proxy.ask("tools/list"))
        assert "error" in proxy.answer(proxy.call("post", POST))
        assert would(site, 1) == [("post", "reissue")]
    done = command(site, "doctor")
    (mend,) = [line for line in done.stdout.splitlines() if "MEND" in line]
    assert "only observed (--mode observe), so calls pass unguarded: post" in mend
    assert command(site, "ledger", "list").stdout.endswith("0 recorded, 0 unresolved\n")
    shown = command(site, "ledger", "list", "--scope", "observed:acme").stdout
    assert shown.endswith("1 recorded, 1 unresolved\n")


def test_two_calls_under_way_with_one_id_are_both_observed(site: Site) -> None:
    """Their answers come with one id too; the first one is taken for that of the first call."""
    site.fates("held", "held")
    with site.proxy(*OBSERVE) as proxy:
        for text in ("one", "two"):
            proxy.call("post", {"text": text}, 5, _meta=turn(text))
        wait_for(lambda: len(site.calls) == 2)
        site.go()
        for _ in range(2):
            proxy.answer(5)
        found = seen(site, 2)
    assert {(one["turn"], one["would"]) for one in found} == {("one", "send"), ("two", "send")}


def test_each_observation_is_of_its_own_call(site: Site) -> None:
    """Sixteen at once, each with a turn and a tool of its own, and half of them lost."""
    site.fates(*["held"] * 16)
    with site.proxy(*OBSERVE) as proxy:
        for number in range(16):
            name = ("post", "typed")[number % 2]
            proxy.call(name, {"text": f"{number}"}, f"c{number}", _meta=turn(f"{name}-{number}"))
        wait_for(lambda: len(site.calls) == 16)
        site.go()
        found = seen(site, 16)
    assert {one["turn"] for one in found} == {
        f"{t}-{n}" for n, t in enumerate(["post", "typed"] * 8)
    }
    assert all(one["turn"].startswith(one["tool"]) for one in found)


def test_bad_input_is_one_line_also_where_a_call_waits_already(site: Site) -> None:
    with site.proxy("--contracts", "/no/such/file") as proxy:
        proxy.call("post", POST)
        assert proxy.wait() == 2
    said = [line for line in proxy.errors.splitlines() if "the server says" not in line]
    assert len(said) == 1
    assert "/no/such/file: cannot be read" in said[0]
