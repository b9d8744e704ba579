"""Writes that are harmless to repeat, as long as no newer one is recorded."""

from dataclasses import replace
from pathlib import Path

import pytest

from guards import ARGUMENTS, START, Args, Extra, Flaky, HandClock, Lab, LabMaker, every_guard
from retry_guard import Policy, Unknown
from retry_guard_contracts import Contract, encode_arguments
from retry_guard_ledgers import about

OTHER = encode_arguments({**ARGUMENTS, "amount": 6})
PRICE = Contract(tool="charge", effect="idempotent", resource="price")


@every_guard
def test_an_idempotent_write_is_repeated_until_it_is_answered(
    make: LabMaker, tmp_path: Path
) -> None:
    lab = make(tmp_path)
    lab.service.meet("lost_ack", "lost")
    assert lab.guard(PRICE).done().value == {"id": "ch_2"}
    assert len(lab.service.requests) == 3
    assert not lab.guard(PRICE).done().replayed
    assert len(lab.service.requests) == 4


def record_a_newer_write(lab: Lab) -> None:
    """As another caller does that sets the price to something else."""
    latest = lab.records()[-1]
    other = replace(about(latest), id="newer", identity=b"another", arguments=OTHER)
    lab.ledger.claim(replace(latest, about=other, owner="other"), None, lab.clock.now())


class Interfering(HandClock):
    """Lets a newer write be recorded in the first sleep."""

    lab: Lab | None = None

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        lab, self.lab = self.lab, None
        if lab is not None:
            record_a_newer_write(lab)


@every_guard
@pytest.mark.parametrize("moment", ["while it waits", "while it saves", "before a later call"])
def test_an_idempotent_write_is_not_repeated_over_a_newer_one(
    make: LabMaker, moment: str, tmp_path: Path
) -> None:
    lab = make(tmp_path)
    clock, flaky, sent = Interfering(), Flaky(lab.ledger), list[Args]()
    lab.clock = clock

    def send(arguments: Args, extra: Extra) -> object:
        sent.append(arguments)
        return Unknown(TimeoutError())

    def saving(verb: str, given: tuple[object, ...]) -> bool:
        if verb == "save" and flaky.calls.count("save") == 1 and moment == "while it saves":
            record_a_newer_write(lab)
        return False

    flaky.failing = saving
    if moment == "while it waits":
        clock.lab = lab
    if moment == "before a later call":
        lab.guard(PRICE, ledger=flaky, policy=Policy(attempts=0)).unresolved(send=send)
        record_a_newer_write(lab)
        lab.clock.sleep(1)
    outcome = lab.guard(PRICE, ledger=flaky).unresolved(send=send)
    assert outcome.reason == "nothing_can_tell"
    assert len(sent) == 1
    assert clock.at < START + 5
