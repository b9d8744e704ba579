"""The MCP library's own client asks a person for the guard, in each generation."""

from pathlib import Path
from typing import Any, Literal

import mcp_types as types
import pytest
from mcp import Client, StdioServerParameters

from mcp_proxy_sdk_client import effects, said, through

MODES = [("legacy", "2025-11-25"), ("2026-07-28", "2026-07-28"), ("auto", "2026-07-28")]
CHARGE = {"customer": "c1", "amount": 5, "key": "k1"}
UNKNOWN = "It is not known whether `charge` took effect"

Mode = Literal["auto", "legacy"]
Action = Literal["accept", "decline", "cancel"]


class Person:
    """Who fills the form in. `asked`: what was put."""

    def __init__(self, action: Action, **content: str) -> None:
        self.action: Action = action
        self.content: dict[str, Any] = {**content}
        self.asked: list[types.ElicitRequestFormParams] = []

    async def __call__(
        self, context: object, params: types.ElicitRequestParams
    ) -> types.ElicitResult:
        assert isinstance(params, types.ElicitRequestFormParams)
        self.asked.append(params)
        content = self.content if self.action == "accept" else None
        return types.ElicitResult(action=self.action, content=content)


def mortal(folder: Path, *options: str) -> StdioServerParameters:
    """Return the proxy, with a server behind it that dies after its first effect."""
    (folder / "kill").touch()
    return through(folder, "contracts: [{tool: charge}]", *options)


@pytest.mark.parametrize(("mode", "version"), MODES)
async def test_a_person_says_that_it_happened_and_nothing_is_sent_again(
    tmp_path: Path, mode: Mode, version: str
) -> None:
    person = Person("accept", outcome="happened")
    async with Client(mortal(tmp_path), mode=mode, elicitation_callback=person) as client:
        assert client.protocol_version == version
        result = await client.call_tool("charge", CHARGE)
        assert result.meta is not None
        assert result.meta["retry-guard/outcome"]["replayed"]
        await client.call_tool("charge", CHARGE)
    (question,) = person.asked
    assert question.message.startswith(UNKNOWN)
    assert list(question.requested_schema["properties"]) == ["outcome", "final"]
    assert len(effects(tmp_path)) == 1


@pytest.mark.parametrize(("mode", "version"), MODES)
async def test_a_person_lets_it_be_sent_once_more(tmp_path: Path, mode: Mode, version: str) -> None:
    person = Person("accept", outcome="again")
    async with Client(mortal(tmp_path), mode=mode, elicitation_callback=person) as client:
        assert client.protocol_version == version
        assert said(await client.call_tool("charge", CHARGE)) == "receipt 1"
    assert len(person.asked) == 1


@pytest.mark.parametrize(("mode", "version"), MODES)
@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_a_harness_without_a_person_declines_and_gets_the_text(
    tmp_path: Path, mode: Mode, version: str, action: Action
) -> None:
    person = Person(action)
    async with Client(mortal(tmp_path), mode=mode, elicitation_callback=person) as client:
        assert client.protocol_version == version
        for _ in range(2):
            result = await client.call_tool("charge", CHARGE)
            assert said(result).startswith(UNKNOWN)
            assert result.is_error
    assert (len(person.asked), len(effects(tmp_path))) == (1, 1)


@pytest.mark.parametrize(("mode", "version"), MODES)
async def test_a_client_that_cannot_ask_or_may_not_gets_the_text(
    tmp_path: Path, mode: Mode, version: str
) -> None:
    async with Client(mortal(tmp_path), mode=mode) as client:
        assert client.protocol_version == version
        assert said(await client.call_tool("charge", CHARGE)).startswith(UNKNOWN)
    person = Person("accept", outcome="again")
    hushed = mortal(tmp_path, "--no-ask")
    (tmp_path / "kill").unlink()
    async with Client(hushed, mode=mode, elicitation_callback=person) as client:
        assert said(await client.call_tool("charge", CHARGE)).startswith(UNKNOWN)
    assert (person.asked, len(effects(tmp_path))) == ([], 1)
