"""What is only observed is called that, and each lost call is counted once."""

from pathlib import Path

import pytest

from guards import ARGUMENTS, KEYED, PLAIN, LabMaker, Operator, every_guard
from mcp_proxy_client import Site, turn, wait_for
from mcp_proxy_stated import KEYED as STATED, POST, command, lists, reading, tool
from retry_guard_ledgers import beside
from retry_guard_mcp_proxy import observed
from test_guard_modes import ERROR, notes, replies

OBSERVE = ("--mode", "observe")
KEY = "contracts: [{tool: post, key: {param: key, retention: 86400}}]"


def would(site: Site, count: int) -> list[tuple[str, str]]:
    """What was observed, once there is so much of it."""
    folder = beside(site.ledger)
    assert folder is not None
    wait_for(lambda: len(observed(folder)) >= count)
    return [(one["would"], one["reason"]) for one in observed(folder)]


def lines(site: Site) -> list[str]:
    shown = command(site, "ledger", "list", "--observed")
    assert shown.stderr == ""
    return shown.stdout.splitlines()[-2:]


@every_guard
def test_a_call_that_a_guard_would_send_again_by_itself_settles_the_lost_one(
    make: LabMaker, tmp_path: Path
) -> None:
    lab = make(tmp_path)
    guard = lab.guard(KEYED, mode="observe")
    with pytest.raises(TimeoutError):
        guard.call(send=replies(ERROR, []))
    for name in (None, None, "t2"):
        lab.clock.sleep(1)
        given = {} if name is None else {"turn": name}
        guard.done(ARGUMENTS, **given)
    assert notes(guard) == [
        ("reissue", ""),
        ("carry_on", "reissue"),
        ("replay", ""),
        ("send", "repeat_warn"),
    ]


@every_guard
def test_while_each_answer_is_lost_one_action_is_carried_on(make: LabMaker, tmp_path: Path) -> None:
    lab = make(tmp_path)
    guard = lab.guard(KEYED, mode="observe")
    for _ in range(4):
        lab.clock.sleep(1)
        with pytest.raises(TimeoutError):
            guard.call(send=replies(ERROR, []))
    assert notes(guard) == [("reissue", ""), *[("carry_on", "reissue")] * 3]
    assert len({note.action for note in guard.guard.observations}) == 1


@every_guard
def test_what_only_a_person_settles_stays_unresolved(make: LabMaker, tmp_path: Path) -> None:
    lab = make(tmp_path)
    guard = lab.guard(PLAIN, mode="observe", ask=Operator())
    with pytest.raises(TimeoutError):
        guard.call(send=replies(ERROR, []))
    for _ in range(2):
        lab.clock.sleep(1)
        guard.done()
    assert notes(guard) == [("ask", ""), *[("carry_on", "ask")] * 2]


def test_the_list_counts_a_lost_call_once_and_what_would_not_have_been_sent(
    tmp_path: Path,
) -> None:
    site = Site(tmp_path, KEY)
    lists(site, [tool("post")])
    site.fates("kill_after", "kill_after", "ok", "ok", "ok")
    with site.proxy(*OBSERVE) as proxy:
        for name in ("t1", "t1", "t1", "t1", "t2"):
            proxy.answer(proxy.call("post", POST, _meta=turn(name)))
        assert would(site, 5) == [
            ("reissue", ""),
            ("carry_on", "reissue"),
            ("carry_on", "reissue"),
            ("replay", ""),
            ("send", "repeat_warn"),
        ]
    assert lines(site) == [
        "5 observed: 2 carry_on, 1 reissue, 1 replay, 1 send",
        "5 calls of 2 actions: a guard would have sent 2 of them, and answered 3 without sending",
    ]


def test_odd_lines_are_counted_as_they_are(tmp_path: Path) -> None:
    site = Site(tmp_path, KEY)
    folder = beside(site.ledger)
    assert folder is not None
    folder.mkdir(mode=0o700)
    odd = '{"at": 5, "server": [1], "action": "x"}\n{"at": 5, "server": {}, "action": ["y"]}\n'
    (folder / "odd.observed.jsonl").write_text(odd, encoding="utf-8")
    assert lines(site)[-1].startswith("2 calls of 2 actions: ")


def test_where_nothing_was_observed_nothing_is_counted(tmp_path: Path) -> None:
    site = Site(tmp_path, KEY)
    assert lines(site)[-1] == "0 observed"


@pytest.mark.parametrize("mode", ["guard", "observe"])
def test_doctor_says_guarded_only_where_a_guard_is_on(tmp_path: Path, mode: str) -> None:
    site = Site(tmp_path, KEY)
    lists(site, [tool("post"), tool("send", STATED), reading()])
    with site.proxy("--mode", mode) as proxy:
        proxy.answer(proxy.ask("tools/list"))
    done = command(site, "doctor")
    said = " ".join(done.stdout.split())
    is_guarded = mode == "guard"
    assert (" guarded: post" in said) is is_guarded
    assert ("only observed (--mode observe), so calls pass unguarded: post" in said) is (
        not is_guarded
    )
    assert done.returncode == 1
