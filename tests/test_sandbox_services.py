"""The services: keys as in production, reads with their stated lag, effects that are recorded."""

import pytest

from retry_guard_sandbox.services import SEARCH_LAG, SERVICES, TOOLS, Delivery, Service
from retry_guard_sandbox.services._service import RETENTION
from retry_guard_sandbox.world._clock import START
from retry_guard_sandbox.world._effects import Effects
from retry_guard_sandbox.world._http import Json, Request, Response
from retry_guard_sandbox.world._streams import Streams

CHARGE: Json = {"customer": "cus_x", "amount": 500, "currency": "eur", "description": "d"}
ARGUMENTS: dict[str, Json] = {
    "charge": CHARGE,
    "refund": {"charge": "ch_1001", "amount": 500, "reason": "r"},
    "create_ticket": {"project": "p", "title": "t", "body": "b"},
    "add_comment": {"ticket": "TCK-101", "text": "c"},
}
every_write = pytest.mark.parametrize("tool", sorted(ARGUMENTS))


class Site:
    """One service, asked directly: no network, no faults."""

    def __init__(self, tool: str) -> None:
        self.effects = Effects()
        streams = Streams(1)
        services = [service(self.effects, streams) for service in SERVICES.values()]
        self.service: Service = next(s for s in services if tool in {t.name for t in s.tools})
        self.sends = 0

    def ask(self, request: Request, at: float = 0.0) -> Response:
        """Let a request arrive, and run at once."""
        self.sends += 1
        answer = self.service.receive(request, START + at)
        if answer is not None:
            return answer
        return self.service.execute(request, Delivery(self.sends), START + at)

    def listed(self, tool: str, at: float = 0.0) -> list[Json]:
        """Read what shows the effects of a write."""
        look = TOOLS[tool].look
        assert look is not None
        given = {name: ARGUMENTS[tool][source] for name, source in look.arguments.items()}
        answer = self.ask(Request(look.tool, given), at)
        assert answer.body["has_more"] is False
        return [i for i in answer.body[look.items] if ARGUMENTS[tool].items() <= i.items()]


def test_these_are_all_the_writes() -> None:
    assert {name for name, tool in TOOLS.items() if tool.effect == "write"} == set(ARGUMENTS)


@every_write
def test_a_write_without_a_key_runs_each_time(tool: str) -> None:
    site = Site(tool)
    first, second = (site.ask(Request(tool, ARGUMENTS[tool])) for _ in range(2))
    made = site.effects.of(tool, ARGUMENTS[tool])
    assert [effect.id for effect in made] == [first.body["id"], second.body["id"]]
    assert first.body["id"] != second.body["id"]


@every_write
def test_a_repeat_with_the_key_gets_the_stored_response_and_runs_nothing(tool: str) -> None:
    site = Site(tool)
    first, second = (site.ask(Request(tool, ARGUMENTS[tool], "k")) for _ in range(2))
    assert second == first
    assert len(site.effects.of(tool)) == 1


@every_write
def test_another_parameter_under_the_key_is_refused_and_named(tool: str) -> None:
    site = Site(tool)
    site.ask(Request(tool, ARGUMENTS[tool], "k"))
    for name, value in ARGUMENTS[tool].items():
        changed = {**ARGUMENTS[tool], name: value + 1 if isinstance(value, int) else value + "!"}
        answer = site.ask(Request(tool, changed, "k"))
        assert (answer.status_code, answer.body["error"]["param"]) == (422, name)
    assert len(site.effects.of(tool)) == 1


def test_the_key_of_one_tool_is_refused_at_another() -> None:
    site = Site("charge")
    site.ask(Request("charge", CHARGE, "k"))
    answer = site.ask(Request("refund", ARGUMENTS["refund"], "k"))
    assert (answer.status_code, answer.body["error"]["param"]) == (422, "tool")


@every_write
def test_a_repeat_while_the_first_runs_is_told_so_and_runs_nothing(tool: str) -> None:
    site, request = Site(tool), Request(tool, ARGUMENTS[tool], "k")
    assert site.service.receive(request, START) is None
    again = site.service.receive(Request(tool, ARGUMENTS[tool], "k"), START)
    assert again is not None
    assert again.status_code == 409
    site.service.execute(request, Delivery(1), START)
    assert site.ask(Request(tool, ARGUMENTS[tool], "k")).ok
    assert len(site.effects.of(tool)) == 1


@every_write
@pytest.mark.parametrize(("after", "effects"), [(RETENTION - 1, 1), (RETENTION, 2)])
def test_a_key_is_remembered_for_its_retention_and_no_longer(
    tool: str, after: float, effects: int
) -> None:
    site = Site(tool)
    site.ask(Request(tool, ARGUMENTS[tool], "k"))
    site.ask(Request(tool, ARGUMENTS[tool], "k"), after)
    assert len(site.effects.of(tool)) == effects


def test_a_request_that_failed_leaves_its_key_free() -> None:
    site = Site("refund")
    wrong: Json = {"charge": "ch_none", "amount": 1, "reason": "r"}
    assert site.ask(Request("refund", wrong, "k")).status_code == 404
    assert site.ask(Request("refund", ARGUMENTS["refund"], "k")).ok


def test_stopping_a_running_request_frees_its_key_and_no_other() -> None:
    site, done, running = (
        Site("charge"),
        Request("charge", CHARGE, "a"),
        Request("charge", CHARGE, "b"),
    )
    site.ask(done)
    assert site.service.receive(running, START) is None
    site.service.abort(running)
    site.service.abort(done)
    assert site.service.receive(Request("charge", CHARGE, "b"), START) is None
    assert site.ask(Request("charge", CHARGE, "a")).ok
    assert len(site.effects.of("charge")) == 1


@every_write
def test_a_read_shows_an_effect_as_the_write_answered_it(tool: str) -> None:
    site = Site(tool)
    answer = site.ask(Request(tool, ARGUMENTS[tool]))
    assert site.listed(tool, at=SEARCH_LAG) == [answer.body]
    assert answer.body["created"] == START


def test_only_the_search_lags_and_it_does_by_its_stated_time() -> None:
    for tool, arguments in ARGUMENTS.items():
        site = Site(tool)
        site.ask(Request(tool, arguments))
        lag = SEARCH_LAG if tool == "create_ticket" else 0.0
        assert len(site.listed(tool, at=lag)) == 1
        assert lag == 0 or site.listed(tool, at=lag - 0.001) == []


def test_no_more_is_refunded_than_was_charged() -> None:
    site = Site("refund")
    sums = [site.ask(Request("refund", {**ARGUMENTS["refund"], "amount": 7000})) for _ in range(2)]
    assert [answer.status_code for answer in sums] == [200, 400]
    assert len(site.effects.of("refund")) == 1


@every_write
def test_arguments_that_do_not_fit_the_schema_are_refused(tool: str) -> None:
    given = ARGUMENTS[tool]
    first, *rest = given
    for spoiled in (
        {**given, "surprise": 1},
        {name: given[name] for name in rest},
        {**given, first: ["a list"]},
        {**given, first: True},
    ):
        site = Site(tool)
        assert site.ask(Request(tool, spoiled)).status_code == 400
        assert site.effects.of(tool) == []


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_a_service_starts_anew_each_time(name: str) -> None:
    for tool in (t.name for t in SERVICES[name].tools if t.effect == "write"):
        Site(tool).ask(Request(tool, ARGUMENTS[tool], "k"))
        fresh = Site(tool)
        assert fresh.effects.of(tool) == []
        assert fresh.listed(tool, at=SEARCH_LAG) == []
