"""What README.md says of the code is made from the code, or not at all."""

from typing import NamedTuple

import pytest

from generate import PAGES, ROOT, OutOfStepError, adapters_table, regenerate, table_of

README = "before\n<!-- generated: a -->\nold\n<!-- end -->\nafter\n"
GENERATORS = {"a": lambda: "new\n"}


class Verdict(NamedTuple):
    row: str


def decide(*, late: bool) -> Verdict:
    """Decide.

    | row | when |
    |---|---|
    | `early` | before |
    | `late` | after |
    """
    return Verdict("early") if not late else Verdict("late")


def forget(*, late: bool) -> Verdict:
    """Decide, and tell of one row only.

    | row | when |
    |---|---|
    | `early` | before |
    """
    return Verdict("early") if not late else Verdict("late")


def test_a_generated_part_is_made_anew_and_the_rest_is_kept() -> None:
    assert regenerate(README, GENERATORS) == README.replace("old", "new")
    assert regenerate(README.replace("old\n", ""), GENERATORS) == README.replace("old", "new")


@pytest.mark.parametrize(
    "text",
    [
        "",
        README + README,
        README.replace(": a", ": b"),
        README.replace("<!-- end -->", ""),
        README.replace("<!-- generated: a -->", ""),
        README + "<!-- end -->\n",
    ],
)
def test_a_part_that_is_missing_doubled_unknown_or_open_is_an_error(text: str) -> None:
    with pytest.raises(OutOfStepError):
        regenerate(text, GENERATORS)


def test_the_table_of_a_decision_is_its_docstring() -> None:
    assert table_of(decide).splitlines()[2:] == ["| `early` | before |", "| `late` | after |"]


def test_a_table_that_leaves_a_row_out_is_an_error() -> None:
    with pytest.raises(OutOfStepError, match="late"):
        table_of(forget)


def test_every_page_has_its_parts_and_the_adapters_theirs() -> None:
    for page, generators in PAGES.items():
        regenerate(page.read_text(encoding="utf-8"), generators)
    rows = adapters_table().splitlines()[2:]
    assert len(rows) == len(list((ROOT / "adapters").glob("*/README.md"))) > 0
    assert any("`langgraph`" in row and "`langgraph>=" in row for row in rows)
