"""A token is a secret: no ledger, log or listing shows it, and only a guard can open it."""

import base64
import json
import logging
from pathlib import Path
from typing import Any

import pytest

from confirm_school import KEY, LIFETIME, ROOM, Offices, every_office
from guards import LABS
from retry_guard import Contract, Done, Unresolved, UsageError
from retry_guard_console import main
from retry_guard_contracts import encode_result, unveil, veil

SQLITE = [
    Offices(LABS[f"{kind}-sqlite"], one=one) for kind in ("sync", "async") for one in (False, True)
]
on_disk = pytest.mark.parametrize("make", SQLITE, ids=["two", "one", "async-two", "async-one"])


@on_disk
def test_no_file_log_or_listing_holds_a_token(
    make: Offices,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(logging.DEBUG)
    town = make(tmp_path)
    office = town.office(town.contract(key=KEY))
    token = office.token()
    town.school.fates = ["lost_ack"]
    office.done(token)
    for name in (record.about.id for record in town.lab.records()):
        main(["ledger", "show", name, "--json", "--ledger", f"sqlite:///{town.lab.path}"])
    main(["ledger", "list", "--json", "--ledger", f"sqlite:///{town.lab.path}"])
    shown = capsys.readouterr()
    seen = caplog.text + shown.out + shown.err + repr(town.lab.records())
    files = b"".join(file.read_bytes() for file in tmp_path.iterdir() if file.is_file())
    assert "$veiled" in shown.out
    for part in (token, *token.split(".")[::2]):
        assert part not in seen
        assert part.encode() not in files


@every_office
def test_the_text_of_an_error_that_may_quote_a_token_is_not_kept(
    make: Offices, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    town = make(tmp_path)
    office = town.office(classify=fails)
    token = office.token()
    town.school.fates = [RuntimeError(f"bad token {token}")]
    assert isinstance(office.confirm(token), Unresolved)
    town.school.shown = [RuntimeError(f"bad token {token}")]
    office.preview({**ROOM, "room": "other"})
    assert "classify failed" in caplog.text
    assert token not in caplog.text + repr(town.lab.records())


def fails(value: object) -> Any:  # noqa: ANN401 - never returns
    """A classifier that quotes what it was given."""
    raise ValueError(f"what is this: {value}")


@every_office
def test_another_secret_opens_no_token_and_asks_for_another(make: Offices, tmp_path: Path) -> None:
    town = make(tmp_path)
    office = town.office(secret=b"a" * 32)
    token = office.token()
    other = town.office(secret=b"b" * 32)
    assert "no preview that is known here" in other.refused(token)
    assert other.token() != token
    assert not office.done(token).replayed


@every_office
def test_where_the_recorded_token_cannot_be_opened_it_is_taken_from_the_caller(
    make: Offices, tmp_path: Path
) -> None:
    """A preview that ran outside, and a re-issue that needs the same bytes."""
    town = make(tmp_path)
    stated = town.contract(key=KEY, confirm={"outside": "accepted"})
    token = town.school.mint(ROOM)
    town.school.fates = ["lost_ack", "lost", "lost", "lost", "lost"]
    assert isinstance(town.office(stated).confirm(token), Unresolved)
    stopped = town.office(stated).preview()
    assert isinstance(stopped, Unresolved)
    assert stopped.reason == "keyed"
    before = len(town.school.requests)
    with pytest.raises(UsageError, match="a secret field differs"):
        town.office(stated).confirm(town.school.mint(ROOM))
    assert len(town.school.requests) == before
    assert town.office(stated).done(token).value == {"id": "room_1"}
    assert len(town.school.rooms) == 1


@every_office
def test_secret_arguments_are_kept_out_of_previews_too(make: Offices, tmp_path: Path) -> None:
    town = make(tmp_path)
    stated = town.contract(secret=("pin",))
    given = {**ROOM, "pin": "4711-4711"}
    office = town.office(stated)
    token = office.token(given)
    assert town.office(stated).token(given) == token
    assert "4711-4711" not in repr(town.lab.records())
    assert not office.done(token, {**given, "room": "room 5a"}).replayed
    assert town.school.requests == [{**given, "confirm_token": token}]
    assert "other values in: pin;" in office.refused(token, {**given, "pin": "1"})


@every_office
def test_what_is_pruned_is_not_handed_out_again(make: Offices, tmp_path: Path) -> None:
    town = make(tmp_path)
    office = town.office(town.contract(confirm={"expires": 10 * LIFETIME}))
    token = office.token()
    town.clock.sleep(10)
    ledger: Any = town.lab.open()
    assert ledger.prune(town.clock.now(), 5) == 1
    other = office.token()
    assert other != token
    assert not office.done(other).replayed


SECRET = b"s" * 32


@pytest.mark.parametrize("value", [None, {"a": 1}, "x" * 100_000, ["é", 1.5], b"\x00\x01"])
def test_what_is_veiled_comes_back_and_shows_nothing(value: object) -> None:
    stored = encode_result(value)
    assert stored is not None
    veiled = veil(stored, SECRET)
    assert veiled is not None
    assert unveil(veiled, SECRET) == stored
    assert veil(stored, SECRET) != veiled
    assert unveil(veiled, b"t" * 32) is None
    assert stored not in base64.b64decode(json.loads(veiled)["$veiled"])


def test_what_was_changed_is_not_opened() -> None:
    veiled = veil(b'{"token":"x"}', SECRET)
    assert veiled is not None
    whole = base64.b64decode(json.loads(veiled)["$veiled"])
    for place in range(len(whole)):
        changed = bytearray(whole)
        changed[place] ^= 1
        text = base64.b64encode(changed).decode()
        assert unveil(json.dumps({"$veiled": text}).encode(), SECRET) is None
    odd = [
        None,
        b"",
        b"null",
        b"{",
        b'{"$veiled":5}',
        b'{"$veiled":"x"}',
        b'{"$veiled":""}',
        b"[1]",
    ]
    assert [unveil(each, SECRET) for each in odd] == [None] * len(odd)


def test_a_preview_is_shown_to_the_caller_as_the_tool_gave_it(tmp_path: Path) -> None:
    town = SQLITE[0](tmp_path)
    first, second = town.office().preview(), town.office().preview()
    assert isinstance(first, Done)
    assert isinstance(second, Done)
    assert first.value == second.value == {**first.value, "preview": "Create Room 5A"}
    assert Contract(tool="t").sealed == ()
