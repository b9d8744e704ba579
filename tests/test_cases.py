"""`cases.toml` answers for every reported case: by tests that exist, or by a later part."""

import ast
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
MAP = (HERE / "cases.toml").read_text(encoding="utf-8")
NUMBERS = (
    *(1, 2, 4, 5, 6, 8, 9, 10, 12, 15, 16, 17, 18, 20, 22, 25, 27, 28, 30, 32, 33, 34, 35, 37),
    *(39, 40, 41, 42, 44, 45, 46, 47, 49, 52, 53, 55, 57, 58, 59, 61, 62, 63, 64, 65, 67, 68),
    *(70, 71, 72, 73, 75, 77, 78, 79, 80, 81, 83, 84, 86, 87, 89, 90, 92, 93, 94, 96, 97, 100),
    *(101, 105, 106, 107, 109, 111, 113, 114, 115, 117, 118, 119, 121, 122, 123, 124, 125, 127),
    *(128, 129, 130, 131, 132, 133, 135, 137, 138),
)
IDS = [f"B{number}" for number in NUMBERS]
KINDS = {f"K{number}" for number in range(1, 8)}
PARTS = {
    "frameworks",
    "mcp",
    "clis",
    "ledger and faults",
    "later: near-duplicates",
    "later: catalogue",
    "later: lint",
    "later: probe",
}
REQUIRED = {"id", "kind", "title"}
OPTIONAL = {"tests", "part", "why"}


@cache
def names_in(file: str) -> frozenset[str]:
    """The tests that a file defines; none, if there is no such file."""
    path = HERE.parent / file
    if path.parent != HERE or not path.is_file():
        return frozenset()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = (n for n in tree.body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))
    return frozenset(function.name for function in functions if function.name.startswith("test_"))


def faults_of(case: dict[str, Any]) -> Iterator[str]:
    """What is wrong with one entry."""
    if not REQUIRED <= case.keys() <= REQUIRED | OPTIONAL:
        yield f"fields {sorted(case)}"
    texts = [case[name] for name in ("id", "kind", "title", "part", "why") if name in case]
    if not all(isinstance(text, str) and text.strip() == text != "" for text in texts):
        yield "a text is empty or no text"
    if case.get("kind") not in KINDS:
        yield f"kind {case.get('kind')}"
    if case.get("part", "mcp") not in PARTS:
        yield f"part {case['part']}"
    if "part" in case and "why" not in case:
        yield "a part without a why"
    tests: list[str] = case.get("tests", [])
    if not tests and ("tests" in case or "part" not in case):
        yield "neither tests nor a part"
    if len(set(tests)) < len(tests):
        yield "a test is named twice"
    for test in tests:
        file, _, name = test.partition("::")
        if name not in names_in(file):
            yield f"no test {test}"


def faults(text: str) -> list[str]:
    """What is wrong with a map, a line each."""
    try:
        cases: dict[str, dict[str, Any]] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        return [f"no TOML: {error}"]
    found = [f"{ref}: {fault}" for ref, case in cases.items() for fault in faults_of(case)]
    plain = [re.sub(r"\s+", " ", reference).casefold() for reference in cases]
    found += [f"{ref}: twice" for ref in sorted(set(plain)) if plain.count(ref) > 1]
    if [case.get("id") for case in cases.values()] != IDS:
        found.append("the ids are not those of all cases, in order")
    if {case.get("kind") for case in cases.values()} != KINDS:
        found.append("a kind is missing")
    return found


def test_every_case_has_its_tests_or_the_part_it_waits_for() -> None:
    assert len(IDS) == len(set(IDS)) == 95
    assert faults(MAP) == []


FIRST = MAP.partition("\n[")[2].partition("\n\n")[0]
TEST = "tests/test_guard_turns.py::test_two_roads_to_one_intent_are_one_action"


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ('id = "B45"', 'id = "B46"', "the ids are not those"),
        ('kind = "K5"', 'kind = "K6"', "a kind is missing"),
        ('kind = "K5"', 'kind = "K8"', "kind K8"),
        ('part = "clis"', 'part = "cli"', "part cli"),
        ('title = "', 'name = "', "fields"),
        ('title = "', 'title = " ', "a text is empty"),
        ('\nwhy = "', '\n# "', "a part without a why"),
        (f'tests = ["{TEST}"]', "tests = []", "neither tests nor a part"),
        (f'tests = ["{TEST}"]', "", "neither tests nor a part"),
        (f'tests = ["{TEST}"]', f'tests = ["{TEST}", "{TEST}"]', "a test is named twice"),
        (TEST, f"{TEST}s", "no test tests/test_guard_turns.py::test_two_roads"),
        (TEST, TEST.replace("turns", "twists"), "no test tests/test_guard_twists.py"),
        (TEST, TEST.replace("tests/", "tests/../"), "no test"),
        ("[" + FIRST, f"[{FIRST}\n\n[{FIRST}", "no TOML"),
        ("[" + FIRST, f"[{FIRST}\n\n[{FIRST}".replace("langgraph", "LangGraph", 1), "twice"),
    ],
)
def test_a_map_that_is_wrong_is_found_out(old: str, new: str, fault: str) -> None:
    assert old in MAP
    assert any(fault in line for line in faults(MAP.replace(old, new)))


def test_tests_name_only_cases_that_there_are() -> None:
    known = set(IDS)
    for path in HERE.glob("test_*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                named = set(re.findall(r"\bB\d+\b", ast.get_docstring(node) or ""))
                assert named <= known, f"{path.name}::{node.name}"
