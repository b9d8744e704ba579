"""Which errors prove, by the operator's word, that nothing ran."""

from types import SimpleNamespace
from typing import Any

import httpx
import pytest
import requests

from retry_guard_contracts import Contract


def proves(proof: dict[str, Any], outcome: object) -> bool:
    """Whether a contract with this one proof takes the outcome for it."""
    return Contract(tool="t", not_executed=[proof]).proves_nothing_ran(outcome)


class CardError(Exception):
    def __init__(self, text: str, code: object = None) -> None:
        super().__init__(text)
        self.code = code


class DeclinedError(CardError):
    pass


class Grumpy(Exception):  # noqa: N818 - a stranger's class
    @property
    def status_code(self) -> int:
        raise RuntimeError

    code = status_code


def response(status: int) -> httpx.HTTPStatusError:
    """An exception as httpx raises it."""
    request = httpx.Request("POST", "http://127.0.0.1/")
    answer = httpx.Response(status, request=request)
    return httpx.HTTPStatusError("failed", request=request, response=answer)


HTTP = requests.Response()
HTTP.status_code = 451


@pytest.mark.parametrize(
    ("proof", "outcome"),
    [
        ({"status": 451}, httpx.Response(451)),
        ({"status": 451}, HTTP),
        ({"status": 451}, requests.HTTPError(response=HTTP)),
        ({"status": 451}, response(451)),
        ({"status": 451}, SimpleNamespace(status=451)),
        ({"status": 451}, {"status": 451}),
        ({"status": 451}, {"error": {"status_code": 451}}),
        ({"code": "card_declined"}, DeclinedError("no", code="card_declined")),
        ({"code": -32000}, {"error": {"code": -32000, "message": "no"}}),
        ({"code": 40001}, {"code": "40001"}),
        ({"code": "40001"}, SimpleNamespace(error=SimpleNamespace(code=40001))),
        ({"exception": "DeclinedError"}, DeclinedError("no")),
        ({"exception": "CardError"}, DeclinedError("no")),
        ({"exception": "builtins.ValueError"}, UnicodeError("x")),
        ({"message": "insufficient funds"}, CardError("Error: insufficient funds (5 EUR)")),
        ({"message": "^insufficient"}, "insufficient funds"),
        ({"message": "funds$"}, {"error": "insufficient funds"}),
        ({"message": "funds"}, {"error": {"message": "insufficient funds"}}),
        (
            {"message": "funds"},
            {"isError": True, "content": [{"type": "text", "text": "no funds"}]},
        ),
        ({"exception": "CardError", "code": 5, "message": "no"}, DeclinedError("no", code=5)),
    ],
)
def test_what_fits_proves_that_nothing_ran(proof: dict[str, Any], outcome: object) -> None:
    assert proves(proof, outcome)


@pytest.mark.parametrize(
    ("proof", "outcome"),
    [
        ({"status": 451}, httpx.Response(500)),
        ({"status": 451}, response(500)),
        ({"status": 1}, {"status": True}),
        ({"status": 200}, {"status": "ok"}),
        ({"status": 451}, None),
        ({"status": 451}, Grumpy("x")),
        ({"code": "x"}, Grumpy("x")),
        ({"code": "1"}, DeclinedError("no", code=True)),
        ({"code": "card"}, DeclinedError("no", code="card_declined")),
        ({"code": "card_declined"}, DeclinedError("card_declined")),
        ({"exception": "DeclinedError"}, CardError("no")),
        ({"exception": "Declined"}, DeclinedError("no")),
        ({"exception": "str"}, "text"),
        ({"message": "funds"}, {"note": "no funds"}),
        ({"message": "FUNDS"}, "no funds"),
        ({"exception": "CardError", "code": 5}, DeclinedError("no", code=6)),
        ({"exception": "CardError", "message": "yes"}, DeclinedError("no")),
    ],
)
def test_what_fits_only_in_part_proves_nothing(proof: dict[str, Any], outcome: object) -> None:
    assert not proves(proof, outcome)


def test_one_of_several_proofs_is_enough_and_without_any_nothing_is_proven() -> None:
    contract = Contract(tool="t", not_executed=[{"status": 451}, {"exception": "CardError"}])
    assert contract.proves_nothing_ran(CardError("x"))
    assert contract.proves_nothing_ran(httpx.Response(451))
    assert not Contract(tool="t").proves_nothing_ran(httpx.Response(451))


def test_a_proof_somewhere_in_the_cause_chain_is_none() -> None:
    error = TimeoutError()
    error.__cause__ = CardError("no")
    assert not proves({"exception": "CardError"}, error)


def test_an_error_in_a_group_with_others_is_no_proof() -> None:
    group = ExceptionGroup("two", [CardError("no"), TimeoutError()])
    assert not proves({"exception": "CardError"}, group)
    assert not proves({"message": "^no$"}, group)


def resource(text: str) -> dict[str, Any]:
    """A block with a resource in it, as MCP has them."""
    return {"type": "resource", "resource": {"uri": "memo://1", "text": text}}


HELD = [
    ({"message": "^Backend"}, {"structuredContent": {"error": "BackendError 500"}}),
    ({"message": "^Backend"}, {"structuredContent": {"message": "BackendError 500"}}),
    ({"message": "^Backend"}, {"structuredContent": {"error": {"message": "BackendError"}}}),
    ({"code": "down"}, {"structuredContent": {"code": "down"}}),
    ({"code": "down"}, {"structuredContent": {"error": {"code": "down"}}}),
    ({"status": 500}, {"structuredContent": {"status": 500}}),
    ({"message": "^Backend"}, {"content": [resource("BackendError 500")]}),
]
"""What an MCP result holds beside its blocks of text."""


def as_object(result: dict[str, Any]) -> object:
    """The same as an SDK gives it."""
    held = result.get("structuredContent")
    return SimpleNamespace(structured_content=held, content=result.get("content", []))


@pytest.mark.parametrize(("sign", "result"), HELD)
def test_what_proves_nothing_is_found_wherever_a_result_holds_it(
    sign: dict[str, Any], result: dict[str, Any]
) -> None:
    contract = Contract(tool="t", unknown=[sign])
    assert contract.proves_nothing({"content": [], **result})
    assert contract.proves_nothing(as_object(result))
    assert not contract.proves_nothing({"content": [], "structuredContent": {"note": "Backend"}})


@pytest.mark.parametrize(("sign", "result"), HELD)
def test_a_proof_beside_the_text_counts_only_in_a_result_that_says_that_it_failed(
    sign: dict[str, Any], result: dict[str, Any]
) -> None:
    assert proves(sign, {"content": [], **result, "isError": True})
    assert not proves(sign, {"content": [], **result, "isError": False})
    assert not proves(sign, {"content": [], **result})
    assert not proves(sign, as_object(result))
