"""`retry-guard ledger`: what an operator sees, and what an answer does."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from ledger_suite import at, began, ended, new, settled
from retry_guard_console import main
from retry_guard_contracts import decode, encode_arguments, encode_result
from retry_guard_core import Record
from retry_guard_ledgers import LedgerError, SQLiteLedger, about

Say = Callable[..., tuple[int, str, str]]


@pytest.fixture
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SQLiteLedger:
    """The ledger that the command finds by itself."""
    monkeypatch.setenv("RETRY_GUARD_LEDGER", f"sqlite:///{tmp_path}/ledger.db")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return SQLiteLedger(tmp_path / "ledger.db")


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Say:
    """Run the command; return its exit code and what it said."""

    def run(*words: str) -> tuple[int, str, str]:
        code = main(words)
        out, err = capsys.readouterr()
        return code, out, err

    return run


def action(name: str, **fields: Any) -> Record:  # noqa: ANN401 - fields of any type
    """A record as a guard makes it."""
    stated: dict[str, Any] = {"arguments": encode_arguments({"amount": Decimal("5.10")})}
    return new(name.encode(), id=name, **stated | fields)


def test_the_list_begins_with_what_is_unresolved_the_oldest_first(
    ledger: SQLiteLedger, say: Say
) -> None:
    ended(ledger, action("done-1"))
    began(ledger, action("open-1", time=1_700_000_000.0))
    ended(ledger, action("done-2"), "not_executed")
    began(ledger, action("open-2", scope="other"))
    code, out, err = say("ledger", "list")
    assert (code, err) == (0, "")
    places = [out.index(name) for name in ("open-1", "open-2", "done-1", "done-2")]
    assert places == sorted(places)
    assert "2023-11-14 22:13:20" in out
    assert "4 recorded, 2 unresolved" in out
    _, out, _ = say("ledger", "list", "--state", "open", "--scope", "other")
    assert "open-2" in out
    assert "1 recorded, 1 unresolved" in out


def test_no_id_is_ever_cut(ledger: SQLiteLedger, say: Say) -> None:
    name, scope = "a" * 200, "s" * 300
    began(ledger, action(name, scope=scope, turn="t" * 100))
    _, out, _ = say("ledger", "list")
    assert name in out
    assert scope in out


def test_nothing_that_is_recorded_can_command_the_terminal(ledger: SQLiteLedger, say: Say) -> None:
    began(ledger, action("x", tool="\x1b[31m[bold]red[/]\n", scope="a\u202eb"))
    for words in (("list",), ("show", "x")):
        _, out, _ = say("ledger", *words)
        assert "\x1b" not in out
        assert "\u202e" not in out
        assert "\\x1b[31m[bold]red[/]\\n" in out


def test_machines_get_one_json_list(ledger: SQLiteLedger, say: Say) -> None:
    began(ledger, action("open-1", key="k-secret"))
    _, out, _ = say("ledger", "list", "--json")
    (fact,) = json.loads(out)
    assert (fact["id"], fact["state"], fact["scope"]) == ("open-1", "open", "acme")
    assert fact["arguments"] == {"amount": "5.10"}
    assert "k-secret" not in out


def test_one_action_is_shown_with_everything_but_its_key(ledger: SQLiteLedger, say: Say) -> None:
    record = began(ledger, action("3f9c", key="k-secret", effect_id="ch_1"))
    assert ledger.save(settled(record, value=encode_result({"id": "ch_1"}), sends=(1.0, 2.0)))
    code, out, _ = say("ledger", "show", "3f9c")
    assert code == 0
    for text in ("done", "acme", "turn-1", "5.10", "ch_1", "1970-01-01 00:00:02 UTC", "call-"):
        assert text in out
    assert "k-secret" not in out
    assert "k-secret" in say("ledger", "show", "3f9c", "--show-key")[1]
    fact = json.loads(say("ledger", "show", "3f9c", "--json")[1])
    assert fact["value"] == {"id": "ch_1"}
    assert fact["sends"] == [1.0, 2.0]
    shown = json.loads(say("ledger", "show", "3f9c", "--json", "--show-key")[1])
    assert shown == fact | {"key": "k-secret"}


def test_what_cannot_be_decoded_is_shown_as_it_is(ledger: SQLiteLedger, say: Say) -> None:
    began(ledger, action("x", arguments=b"\xff not ours"))
    assert json.loads(say("ledger", "show", "x", "--json")[1])["arguments"] == "\\xff not ours"


def test_an_id_may_be_shortened_where_it_stays_clear(ledger: SQLiteLedger, say: Say) -> None:
    for name in ("abcd", "abce", "b", "bc"):
        began(ledger, action(name))
    assert json.loads(say("ledger", "show", "abcd", "--json")[1])["id"] == "abcd"
    assert json.loads(say("ledger", "show", "b", "--json")[1])["id"] == "b"
    code, out, err = say("ledger", "show", "abc")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "2 actions begin with 'abc': abcd (acme), abce (acme)" in err
    for name in ("zzz", ""):
        code, _, err = say("ledger", "show", name)
        assert (code, err.count("\n")) == (2, 1)
        assert f"no action begins with '{name}'" in err


def test_an_id_of_two_scopes_needs_the_scope(ledger: SQLiteLedger, say: Say) -> None:
    for scope in ("one", "two"):
        began(ledger, action("same", scope=scope))
    assert say("ledger", "resolve", "same", "happened")[0] == 2
    assert say("ledger", "resolve", "same", "happened", "--scope", "two")[0] == 0
    assert [record.state for record in ledger.list()] == ["open", "done"]


@pytest.mark.parametrize(
    ("words", "state", "answer"),
    [
        (["happened"], "done", None),
        (["did-not-happen"], "open", "did_not_happen"),
        (["did-not-happen", "--final"], "open", "did_not_happen"),
        (["again"], "open", "again"),
        (["abandon"], "abandoned", None),
    ],
)
def test_each_answer_is_stored(
    ledger: SQLiteLedger, say: Say, words: list[str], state: str, answer: str | None
) -> None:
    began(ledger, action("3f9c"))
    code, out, err = say("ledger", "resolve", "3f", *words)
    assert (code, err) == (0, "")
    assert "3f9c" in out
    (record,) = ledger.list()
    assert (record.state, record.answer) == (state, answer)
    final = json.loads(say("ledger", "show", "3f", "--json")[1])["final"]
    assert final is ("--final" in words)


def test_a_result_is_stored_as_later_calls_get_it(ledger: SQLiteLedger, say: Say) -> None:
    began(ledger, action("3f9c"))
    assert say("ledger", "resolve", "3f9c", "happened", "--result", '{"id": "ch_1"}')[0] == 0
    (record,) = ledger.list()
    assert record.value is not None
    assert decode(record.value) == {"id": "ch_1"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["again", "--result", "1"], "--result goes with happened only"),
        (["again", "--final"], "--final goes with did-not-happen only"),
        (["happened", "--result", "{nope"], "give the tool's result as JSON"),
        (["happened", "--result", ""], "give the tool's result as JSON"),
        (["happened", "--result", "NaN"], "NaN is no JSON number"),
        (["happened", "--result", "[1e999]"], "1e999 is no JSON number"),
        (["happened", "--result", '"\\ud800"'], "cannot be kept"),
        (["happened", "--result", '{"\\udfff": 1}'], "cannot be kept"),
        (["happened", "--result", "[" * 50_000 + "]" * 50_000], "give the tool's result as JSON"),
        (["happened", "--result", "9" * 5_000], "give the tool's result as JSON"),
        (["maybe"], "invalid choice: 'maybe'"),
    ],
)
def test_a_wrong_answer_changes_nothing(
    ledger: SQLiteLedger, say: Say, words: list[str], said: str
) -> None:
    record = began(ledger, action("3f9c"))
    code, out, err = say("ledger", "resolve", "3f9c", *words)
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1 or err.startswith("usage: ")
    assert ledger.list() == [record]


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("sends", "q"),
        ("sends", "nan"),
        ("sends", b"1.0"),
        ("call_ids", "x"),
        ("call_ids", '"abc"'),
        ("call_ids", "[1]"),
        ("call_ids", "[" * 50_000),
        ("tool", b"x"),
        ("content", "x"),
        ("lease", "x"),
        ("fresh", "x"),
        ("value", "x"),
        ("answer", "maybe"),
    ],
)
def test_a_damaged_row_is_refused_by_name(
    ledger: SQLiteLedger, tmp_path: Path, column: str, value: object
) -> None:
    began(ledger, action("3f9c"))
    with closing(sqlite3.connect(tmp_path / "ledger.db")) as db, db:
        db.execute(f"UPDATE records SET {column} = ?", (value,))  # noqa: S608 - a name from above
    said = rf"action '3f9c' in scope 'acme' is damaged \({column}\): stop"
    for verb in (
        lambda: ledger.claim(action("3f9c"), None, at(100)),
        lambda: ledger.get("acme", "3f9c"),
        ledger.list,
    ):
        with pytest.raises(LedgerError, match=said):
            verb()
    ledger.close()


@pytest.fixture
def damaged(ledger: SQLiteLedger, tmp_path: Path) -> SQLiteLedger:
    """A ledger with one row that cannot be read, among those that are done."""
    began(ledger, action("open-1"))
    ended(ledger, action("done-1"))
    ended(ledger, action("done-2"))
    damage(tmp_path, "done-2")
    return ledger


def damage(folder: Path, name: str) -> None:
    """Make one row one that cannot be read."""
    with closing(sqlite3.connect(folder / "ledger.db")) as db, db:
        changed = db.execute("UPDATE records SET sends = 'q', call_ids = 'x' WHERE id = ?", (name,))
        assert changed.rowcount == 1


def test_a_damaged_row_hides_nothing_that_is_in_another_state(
    damaged: SQLiteLedger, say: Say
) -> None:
    for words in ([], ["--json"]):
        code, out, err = say("ledger", "list", *words)
        assert (code, err.count("\n")) == (2, 1)
        assert "open-1" in out
        assert "'done-2' in scope 'acme' is damaged (sends, call_ids)" in err
        assert "left out: all that is done" in err
    assert say("ledger", "list", "--state", "open")[0] == 0
    code, out, err = say("ledger", "list", "--state", "done")
    assert (code, out, err.count("\n")) == (2, "", 1)


def test_beside_a_damaged_row_an_action_is_shown_and_settled_by_its_whole_id(
    damaged: SQLiteLedger, say: Say
) -> None:
    assert say("ledger", "show", "open-1")[0] == 0
    assert say("ledger", "show", "done-1", "--scope", "acme")[0] == 0
    for words in (("open",), ("done-1",), ("done-2", "--scope", "acme")):
        for verb in (("show",), ("resolve", "again")):
            code, out, err = say("ledger", verb[0], *words, *verb[1:])
            assert (code, out, err.count("\n")) == (2, "", 1)
            assert "'done-2' in scope 'acme' is damaged" in err
    assert say("ledger", "resolve", "open-1", "happened")[0] == 0


def test_a_row_damaged_in_its_state_is_said_too(
    ledger: SQLiteLedger, tmp_path: Path, say: Say
) -> None:
    ended(ledger, action("done-1"))
    with closing(sqlite3.connect(tmp_path / "ledger.db")) as db, db:
        db.execute("UPDATE records SET state = 'odd'")
    code, out, err = say("ledger", "list")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "'done-1' in scope 'acme' is damaged (state)" in err


def test_an_action_that_a_call_holds_is_not_given_up(ledger: SQLiteLedger, say: Say) -> None:
    record = replace(action("3f9c"), lease=ledger.now().latest + 1_000.0)
    began(ledger, record)
    code, _, err = say("ledger", "resolve", "3f9c", "abandon")
    assert code == 2
    assert "is held by a call that runs" in err
    assert ledger.list() == [record]


def test_old_results_are_dropped_on_demand(ledger: SQLiteLedger, say: Say) -> None:
    record = ended(ledger, action("3f9c"))
    ledger.deliver("acme", about(record).id, "turn-1")
    assert say("ledger", "prune", "--keep", "1e12")[1] == "0 results dropped\n"
    assert say("ledger", "prune")[1] == "1 results dropped\n"
    assert ledger.list() == [replace(record, delivered=True, value=None)]
    for wrong in ("-1", "nan", "inf", "x"):
        assert say("ledger", "prune", "--keep", wrong)[0] == 2


def test_the_command_makes_no_ledger_of_its_own(tmp_path: Path, say: Say) -> None:
    url = f"sqlite:///{tmp_path}/none.db"
    for words in (("list",), ("show", "x"), ("resolve", "x", "again"), ("prune",)):
        code, out, err = say("ledger", *words, "--ledger", url)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert "there is no ledger at" in err
    assert list(tmp_path.iterdir()) == []


def test_the_option_comes_before_the_environment(
    ledger: SQLiteLedger, tmp_path: Path, say: Say
) -> None:
    other = SQLiteLedger(tmp_path / "other.db")
    other.claim(action("theirs"), None, at(100))
    _, out, _ = say("ledger", "list", "--ledger", f"sqlite:///{tmp_path}/other.db")
    assert "theirs" in out
    assert "0 recorded" in say("ledger", "list")[1]


def test_of_two_operators_who_answer_at_once_one_is_told_to_look_again(
    ledger: SQLiteLedger, monkeypatch: pytest.MonkeyPatch, say: Say
) -> None:
    """The second answers after the first has looked at the record, and before it is stored."""
    began(ledger, action("open-1", time=1_700_000_000.0))
    store, others = SQLiteLedger.resolve, list[tuple[int, str, str]]()

    def after_another(self: SQLiteLedger, *given: Any, **named: Any) -> Record:  # noqa: ANN401 - handed on
        if not others:
            monkeypatch.setattr(SQLiteLedger, "resolve", store)
            others.append(say("ledger", "resolve", "open-1", "again"))
        return store(self, *given, **named)

    monkeypatch.setattr(SQLiteLedger, "resolve", after_another)
    code, out, err = say("ledger", "resolve", "open-1", "again")
    assert (code, out) == (2, "")
    assert "has changed since" in err
    assert others[0][0] == 0
    assert "answer noted: again" in others[0][1]
