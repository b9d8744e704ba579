"""Contracts files: what they may hold, and the line of whatever is wrong."""

from pathlib import Path

import pytest

from retry_guard_contracts import Confirm, Contract, ContractError, load_contracts, parse_contracts

GOOD = """\
# the payments server
contracts:
  - {tool: charge, key: {param: idempotency_key, retention: 86400}}
  - tool: create_ticket
    server: tickets
    effect: write
    in_flight_bound: 1e2
    identity:
      title: fold
      queue: exact
    defaults: {queue: general, urgent: false, weight: 1.5, note: null, "on": 'no'}
    confirm: {preview: preview_ticket, token: confirm_token, param: confirm_token, expires: 300}
    read_back:
      tool: search_tickets
      args: {query: title, limit: {value: 50}}
      items: tickets
      match: {title: title, state: {value: open}}
      visibility_lag: 0
    not_executed:
      - {status: 422}
      - {code: -32000, message: "quota .* exceeded"}
  - tool: charge
    server: other
"""


def test_a_file_gives_its_contracts_in_order(tmp_path: Path) -> None:
    (tmp_path / "contracts.yaml").write_text(GOOD, encoding="utf-8")
    contracts = load_contracts(tmp_path / "contracts.yaml")
    assert contracts == parse_contracts(GOOD)
    assert contracts[0] == Contract(
        tool="charge", key={"param": "idempotency_key", "retention": 86400}
    )
    assert [(c.server, c.tool) for c in contracts] == [
        (None, "charge"),
        ("tickets", "create_ticket"),
        ("other", "charge"),
    ]
    assert contracts[1].in_flight_bound == 100.0
    assert contracts[1].confirm == Confirm(
        preview="preview_ticket", token="confirm_token", param="confirm_token", expires=300.0
    )
    assert contracts[1].defaults == {
        "queue": "general",
        "urgent": False,
        "weight": 1.5,
        "note": None,
        "on": "no",
    }


def test_a_byte_order_mark_and_an_empty_list_are_fine(tmp_path: Path) -> None:
    file = tmp_path / "contracts.yaml"
    file.write_text("contracts: []", encoding="utf-8-sig")
    assert load_contracts(file) == []


NO_PATH = "is no path: write it like customer.id, lines[0] or lines[].sku"
WRONG: list[tuple[str, str]] = [
    ("", "c.yaml:1: is empty; write `contracts:` and a list of them"),
    ("# nothing\n", "c.yaml:1: is empty; write `contracts:` and a list of them"),
    ("- tool: a\n", "c.yaml:1: must hold `contracts:` and a list of them"),
    ("charge\n", "c.yaml:1: must hold `contracts:` and a list of them"),
    ("tools: []\n", "c.yaml:1: must hold `contracts:` and a list of them"),
    ("contracts:\n", "c.yaml:1: contracts: must be a list; put `- tool: NAME` in it"),
    ("contracts: {tool: a}\n", "c.yaml:1: contracts: must be a list; put `- tool: NAME` in it"),
    (
        "contracts: []\nversion: 1\n",
        "c.yaml:2: version: unknown field; the only one here is contracts",
    ),
    ("contracts:\n  - charge\n", "c.yaml:2: must hold fields, one per line"),
    ("contracts:\n  - effect: write\n", "c.yaml:2: tool: is required; add it"),
    (
        "contracts:\n  - tool: a\n    kee: {}\n",
        "c.yaml:3: kee: unknown field; remove it or correct its spelling",
    ),
    (
        "contracts:\n  - tool: a\n    key:\n      param: k\n      retentoin: 5\n",
        "c.yaml:5: key.retentoin: unknown field; remove it or correct its spelling",
    ),
    (
        "contracts:\n  - tool: a\n    key: {retention: 5}\n",
        "c.yaml:3: key.param: is required; add it",
    ),
    (
        "contracts:\n  - tool: a\n    key:\n      param: k\n      retention: '5'\n",
        "c.yaml:5: key.retention: must be a number of seconds; write it without quotes",
    ),
    (
        "contracts:\n  - tool: a\n    in_flight_bound: -1\n",
        "c.yaml:3: in_flight_bound: must be 0 or more",
    ),
    (
        "contracts:\n  - tool: a\n    effect: rite\n",
        "c.yaml:3: effect: must be 'read', 'idempotent' or 'write'",
    ),
    (
        "contracts:\n  - tool: a\n    effect: read\n    key: {param: k}\n",
        "c.yaml:4: key: a read needs none; remove it, or state the effect as write",
    ),
    (
        "contracts:\n  - tool: a\n    effect: read\n    key:\n      param: k\n",
        "c.yaml:4: key: a read needs none; remove it, or state the effect as write",
    ),
    (
        "contracts:\n  - tool: a\n    identity: [k]\n    key: {param: k}\n",
        "c.yaml:3: identity: k is the key, which never names an effect; remove it there",
    ),
    (
        "contracts:\n  - tool: a\n    read_back:\n      match: {x: x}\n      tool: a\n",
        "c.yaml:5: read_back.tool: is the tool itself; name the tool that reads what it wrote",
    ),
    (
        "contracts:\n  - tool: a\n    key:\n      param: k\n      max_length: 20\n",
        "c.yaml:5: key.max_length: 128 bits as uuid need 36; format: hex needs 32",
    ),
    (
        "contracts:\n  - tool: a\n    read_back:\n      tool: r\n      match:\n        x: [1]\n",
        "c.yaml:6: read_back.match.x: must hold fields, one per line",
    ),
    (
        "contracts:\n  - tool: a\n    read_back:\n      tool: r\n      match:\n        x: {}\n",
        "c.yaml:6: read_back.match.x.value: is required; add it",
    ),
    (
        "contracts:\n  - tool: a\n    volatile:\n      - b\n      - 'c['\n",
        f"c.yaml:5: volatile[1]: 'c[' {NO_PATH}",
    ),
    (
        "contracts:\n  - tool: a\n    identity:\n      b: exact\n      'c[': fold\n",
        f"c.yaml:5: identity.c[: 'c[' {NO_PATH}",
    ),
    (
        "contracts:\n  - tool: a\n    secret: b\n",
        "c.yaml:3: secret: must be a list; put `- ` before each item",
    ),
    (
        "contracts:\n  - tool: a\n    confirm: {token: t, param: t, phase: b}\n",
        "c.yaml:3: confirm.phase: unknown field; remove it or correct its spelling",
    ),
    (
        "contracts:\n  - tool: a\n    confirm:\n      token: t\n",
        "c.yaml:3: confirm.param: is required; add it",
    ),
    (
        "contracts:\n  - tool: a\n    confirm:\n      {token: t, param: t,\n       expires: 5m}\n",
        "c.yaml:5: confirm.expires: must be a number of seconds; write it without quotes",
    ),
    ("contracts:\n  - tool:\n", "c.yaml:2: tool: must be text; put it in quotes"),
    ("contracts:\n  - tool: 5\n", "c.yaml:2: tool: must be text; put it in quotes"),
    ("contracts:\n  - tool: true\n", "c.yaml:2: tool: must be text; put it in quotes"),
    (
        "contracts:\n  - tool: ''\n",
        "c.yaml:2: tool: must not be empty, nor begin or end with white space",
    ),
    (
        "contracts:\n  - tool: a\n  - tool: b\n  - tool: a\n",
        "c.yaml:4: tool: a has a contract in line 2 already; keep one of them",
    ),
    (
        "contracts:\n  - tool: a\n    tool: b\n",
        "c.yaml:3: tool: given in line 2 already; keep one of them",
    ),
    (
        "contracts:\n  - tool: a\n    key: {param: k, param: l}\n",
        "c.yaml:3: key.param: given in line 3 already; keep one of them",
    ),
    (
        "contracts: []\ncontracts: []\n",
        "c.yaml:2: contracts: given in line 1 already; keep one of them",
    ),
]

SURPRISES: list[tuple[str, str]] = [
    ("no", "'no': YAML takes it for a boolean; write true or false, or put it in quotes"),
    ("on", "'on': YAML takes it for a boolean; write true or false, or put it in quotes"),
    ("Yes", "'Yes': YAML takes it for a boolean; write true or false, or put it in quotes"),
    ("010", "'010': YAML takes it for another number; write a decimal number, or put it in quotes"),
    (
        "0x10",
        "'0x10': YAML takes it for another number; write a decimal number, or put it in quotes",
    ),
    (
        "1_000",
        "'1_000': YAML takes it for another number; write a decimal number, or put it in quotes",
    ),
    (
        "1:30",
        "'1:30': YAML takes it for another number; write a decimal number, or put it in quotes",
    ),
    (
        ".inf",
        "'.inf': YAML takes it for another number; write a decimal number, or put it in quotes",
    ),
    (
        ".nan",
        "'.nan': YAML takes it for another number; write a decimal number, or put it in quotes",
    ),
    ("2024-01-01", "'2024-01-01': YAML takes it for a date; put it in quotes"),
    ("=", "'=': YAML takes it for a default value; put it in quotes"),
    ("!!python/name:os.system x", "'x': tags are not supported; remove it"),
    ("!!python/object/apply:os.system [x]", "tags are not supported; remove it"),
    ("!own {a: b}", "tags are not supported; remove it"),
]


@pytest.mark.parametrize(("text", "message"), WRONG)
def test_what_is_wrong_is_said_with_its_line_and_field(text: str, message: str) -> None:
    with pytest.raises(ContractError) as caught:
        parse_contracts(text, "c.yaml")
    assert str(caught.value) == message
    assert "\n".join(caught.value.problems) == message


@pytest.mark.parametrize(("scalar", "message"), SURPRISES)
@pytest.mark.parametrize("field", ["tool", "server", "in_flight_bound"])
def test_what_yaml_would_turn_into_something_else_is_refused(
    scalar: str, message: str, field: str
) -> None:
    with pytest.raises(ContractError) as caught:
        parse_contracts(f"contracts:\n- effect: write\n  {field}: {scalar}\n", "c.yaml")
    assert str(caught.value) == f"c.yaml:3: {field}: {message}"


@pytest.mark.parametrize("scalar", ["no", "on", "5", "null", "2024-01-01", "~"])
def test_a_key_that_is_no_text_is_refused(scalar: str) -> None:
    with pytest.raises(ContractError, match=r"^c\.yaml:4: ") as caught:
        parse_contracts(f"contracts:\n- tool: a\n  defaults:\n    {scalar}: 1\n", "c.yaml")
    assert "put it in quotes" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("contracts:\n  - tool: 'a\n", r"^c\.yaml:\d: is not valid YAML: "),
        ("contracts:\n\t- tool: a\n", r"^c\.yaml:2: is not valid YAML: "),
        ("contracts: [\n", r"^c\.yaml:2: is not valid YAML: "),
        ("contracts: []\n---\ncontracts: []\n", r"^c\.yaml:2: is not valid YAML: "),
        ("contracts: []\nx: \x00\n", r"^c\.yaml:2: is not valid YAML: a character"),
        ("contracts:\n  - &a {tool: a}\n  - *a\n", r"^c\.yaml:3: aliases are not supported"),
        ("contracts: &a [*a]\n", r"^c\.yaml:1: aliases are not supported"),
        ("- " * 600 + "a", r"^c\.yaml:\d+: is not valid YAML: nested too deep"),
        (
            "contracts:\n- tool: a\n  <<: {effect: read}\n",
            r"^c\.yaml:3: .*merge keys are not supported",
        ),
        ("contracts:\n- tool: a\n  ? [x]\n  : 1\n", r"^c\.yaml:3: a key must be text"),
        ('contracts:\n- tool: "\\ud800"\n', r"^c\.yaml:2: "),
    ],
)
def test_malformed_yaml_is_one_line_with_its_place(text: str, message: str) -> None:
    with pytest.raises(ContractError, match=message) as caught:
        parse_contracts(text, "c.yaml")
    assert len(str(caught.value).splitlines()) == 1


def test_all_problems_are_listed_in_the_order_of_their_lines() -> None:
    text = "contracts:\n- tool: a\n  twins: both\n  effct: x\n- key: {}\n"
    text += "- tool: b\n  repeat_window: x\n"
    with pytest.raises(ContractError) as caught:
        parse_contracts(text, "c.yaml")
    assert caught.value.problems == (
        "c.yaml:3: twins: must be 'join' or 'count'",
        "c.yaml:4: effct: unknown field; remove it or correct its spelling",
        "c.yaml:5: tool: is required; add it",
        "c.yaml:5: key.param: is required; add it",
        "c.yaml:7: repeat_window: must be a number of seconds; write it without quotes",
    )


def test_a_file_that_cannot_be_read_is_one_clear_line(tmp_path: Path) -> None:
    missing, binary = tmp_path / "none.yaml", tmp_path / "binary.yaml"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(
        ContractError, match=r"none\.yaml: cannot be read: .*; name a contracts file$"
    ):
        load_contracts(missing)
    with pytest.raises(ContractError, match="cannot be read"):
        load_contracts(tmp_path)
    with pytest.raises(ContractError, match=r"binary\.yaml: is not UTF-8; save it as UTF-8 text$"):
        load_contracts(binary)


def test_an_error_in_a_file_names_the_file(tmp_path: Path) -> None:
    file = tmp_path / "contracts.yaml"
    file.write_text("contracts:\n- {}\n")
    with pytest.raises(ContractError) as caught:
        load_contracts(file)
    assert str(caught.value) == f"{file}:2: tool: is required; add it"
