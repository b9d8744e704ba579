"""Idempotency keys at the services: as in production, for every write, and the switches."""

from itertools import product

import pytest

from retry_guard_sandbox.services import RETENTION, SERVICES, TOOLS, Delivery, Facts
from retry_guard_sandbox.world._clock import START
from retry_guard_sandbox.world._http import Request, refusal
from sandbox_sites import BATCHES, CALLS, SINGLE, WRITES, Site, changed

every_write = pytest.mark.parametrize("tool", WRITES)
ERROR = refusal(500, "internal_error", "internal server error")
STORING, IGNORING = Facts(stores_errors=True), Facts(honours_keys=False)


@every_write
def test_a_repeat_with_the_key_gets_the_stored_response_and_runs_nothing(tool: str) -> None:
    site = Site(tool)
    first, made = site.write("k"), len(site.made())
    assert site.write("k") == first
    assert len(site.made()) == made == len(TOOLS[tool].parts(CALLS[tool]))


@every_write
def test_another_parameter_under_the_key_is_refused_and_named(tool: str) -> None:
    site = Site(tool)
    site.write("k")
    made = len(site.effects.of(tool))
    for name, value in CALLS[tool].items():
        answer = site.ask(Request(tool, {**CALLS[tool], name: changed(value)}, "k"))
        assert (answer.status_code, answer.body["error"]["param"]) == (422, name)
    assert len(site.effects.of(tool)) == made


@pytest.mark.parametrize("service", sorted(SERVICES))
def test_the_key_of_one_tool_is_refused_at_another(service: str) -> None:
    tools = [tool.name for tool in SERVICES[service].tools if tool.effect == "write"]
    for one, other in product(tools, tools):
        site = Site(one)
        site.write("k")
        answer = site.ask(Request(other, CALLS[other], "k"))
        assert answer.ok == (one == other)
        assert answer.ok or (answer.status_code, answer.body["error"]["param"]) == (422, "tool")


@every_write
def test_a_repeat_while_the_first_runs_is_told_so_and_runs_nothing(tool: str) -> None:
    site, request = Site(tool), Request(tool, CALLS[tool], "k")
    assert site.service.receive(request, START) is None
    again = site.service.receive(Request(tool, CALLS[tool], "k"), START)
    assert again is not None
    assert again.status_code == 409
    site.service.execute(request, Delivery(1), START)
    made = len(site.made())
    assert site.write("k").ok
    assert len(site.made()) == made


def test_a_request_that_failed_leaves_its_key_free() -> None:
    site = Site("refund")
    wrong = {**CALLS["refund"], "charge": "ch_none"}
    assert site.ask(Request("refund", wrong, "k")).status_code == 404
    assert site.write("k").ok


@every_write
def test_stopping_a_running_request_frees_its_key_and_no_other(tool: str) -> None:
    site = Site(tool)
    done, running = (Request(tool, CALLS[tool], key) for key in "ab")
    site.ask(done)
    made = len(site.made())
    assert site.service.receive(running, START) is None
    site.service.abort(running)
    site.service.abort(done)
    assert site.service.receive(Request(tool, CALLS[tool], "b"), START) is None
    assert site.write("a").ok
    assert len(site.made()) == made


@every_write
def test_an_error_answered_under_a_key_is_given_again_where_errors_are_stored(tool: str) -> None:
    """Whether the request was executed before the error, or never."""
    for executed in (False, True):
        site, request = Site(tool, STORING), Request(tool, CALLS[tool], "k")
        if executed:
            site.ask(request)
        site.service.fail(request, ERROR, START)
        made = len(site.made())
        assert [site.write("k"), site.write("k", at=99.0)] == [ERROR, ERROR]
        assert len(site.made()) == made == (len(TOOLS[tool].parts(CALLS[tool])) if executed else 0)


@every_write
def test_an_error_answered_under_a_key_is_forgotten_where_errors_are_not_stored(tool: str) -> None:
    site, request = Site(tool), Request(tool, CALLS[tool], "k")
    site.service.fail(request, ERROR, START)
    assert site.write("k").ok


@every_write
def test_a_stored_error_is_about_its_own_key_and_comes_after_a_success_of_it(tool: str) -> None:
    site = Site(tool, STORING)
    first = site.write("k")
    site.service.fail(Request(tool, CALLS[tool], "k"), ERROR, START)
    site.service.fail(Request(tool, CALLS[tool]), ERROR, START)
    assert site.write("k") == first
    assert site.write("other").ok
    assert site.write().ok


@pytest.mark.parametrize(("facts", "again"), [(Facts(), 201), (STORING, 404)])
def test_a_refusal_is_stored_too_where_errors_are(facts: Facts, again: int) -> None:
    """A comment on a ticket that does not exist yet, and then on the same one when it does."""
    name, site = "unknown", Site("create_ticket", facts)
    for _ in range(2):
        site = Site("create_ticket", facts)
        early = Request("add_comment", {"ticket": name, "text": "c"}, "k")
        assert site.ask(early).status_code == 404
        name = site.write().body["id"]
    assert site.ask(Request("add_comment", {"ticket": name, "text": "c"}, "k")).status_code == again


@every_write
def test_a_service_that_ignores_keys_runs_every_repeat(tool: str) -> None:
    site = Site(tool, IGNORING)
    site.write("k")
    made = len(site.made())
    site.write("k")
    assert len(site.made()) == 2 * made


@every_write
@pytest.mark.parametrize("retention", [5.0, RETENTION])
def test_a_key_is_remembered_for_its_retention_and_no_longer(tool: str, retention: float) -> None:
    for after, times in ((retention - 0.001, 1), (retention, 2)):
        site = Site(tool, Facts(retention=retention))
        site.write("k")
        made = len(site.made())
        site.write("k", at=after)
        assert len(site.made()) == times * made


@pytest.mark.parametrize("tool", BATCHES)
@pytest.mark.parametrize("share", [0.0, 0.4, 0.7, 0.99])
def test_a_batch_in_part_has_a_first_part_and_stays_that(tool: str, share: float) -> None:
    site, parts = Site(tool), TOOLS[tool].parts(CALLS[tool])
    answer = site.write(share=share)
    done = max(1, int(share * 3))
    assert [effect.arguments for effect in site.made()] == parts[:done]
    assert answer.status_code == 500
    assert f"{done} of 3" in answer.body["error"]["message"]
    assert site.shown(at=1e6) == [1] * done + [0] * (3 - done)


@pytest.mark.parametrize("tool", BATCHES)
def test_a_batch_of_one_item_is_done_or_not_and_never_in_part(tool: str) -> None:
    site = Site(tool)
    (part, *_) = TOOLS[tool].parts(CALLS[tool])
    assert site.ask(Request(tool, part), share=0.1).ok
    assert len(site.made()) == 1


@pytest.mark.parametrize("tool", SINGLE)
def test_what_is_no_batch_is_never_done_in_part(tool: str) -> None:
    site = Site(tool)
    assert site.write(share=0.5).ok
    assert len(site.made()) == 1


@pytest.mark.parametrize("share", [0.4, 0.7])
@pytest.mark.parametrize("facts", [Facts(), STORING])
def test_a_repeat_of_a_batch_in_part_resumes_it_under_its_key(share: float, facts: Facts) -> None:
    site = Site("bulk_insert", facts)
    site.write("k", share=share)
    answer, again = site.write("k"), site.write("k")
    assert [effect.arguments for effect in site.made()] == site.tool.parts(CALLS["bulk_insert"])
    assert answer.body["ids"] == [effect.id for effect in site.made()]
    assert again == answer


def test_a_batch_that_stops_twice_under_its_key_goes_on_where_it_had_stopped_last() -> None:
    site = Site("bulk_insert")
    sends = [site.write("k", share=0.1), site.write("k", share=0.1), site.write("k")]
    assert [answer.ok for answer in sends] == [False, False, True]
    assert [effect.send for effect in site.made()] == [1, 2, 3]


def test_a_repeat_of_a_bulk_mail_in_part_gets_the_stored_answer_and_sends_nothing() -> None:
    site = Site("send_bulk")
    first = site.write("k", share=0.7)
    assert site.write("k") == first
    assert len(site.made()) == 2
    assert site.write("another").ok
    assert len(site.made()) == 5


def test_a_batch_that_is_stopped_while_it_is_resumed_keeps_what_it_has() -> None:
    site = Site("bulk_insert")
    site.write("k", share=0.4)
    again = Request("bulk_insert", CALLS["bulk_insert"], "k")
    assert site.service.receive(again, START) is None
    site.service.abort(again)
    assert site.write("k").ok
    assert len(site.made()) == 3
