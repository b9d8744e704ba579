"""The page: what stands in it, and what Chromium makes of it on a phone and on a desk."""

import json
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from browser import CHROMIUM, Page, browser
from retry_guard_sandbox import CHOICES, BoundError, Report, Row, page, read_bounds, report
from sandbox_rows import BROKEN, GOOD, MISSED, TWICE_RUN, TWICE_SENT, drawn

VOID = {"meta", "br", "hr", "img", "input", "link"}
NAMES = 'quote" <script>alert(1)</script> & more'


def every_kind() -> list[Row]:
    """Rows of every fault, arm and outcome, of scripts and of models."""
    outcomes = (GOOD, MISSED, TWICE_SENT, TWICE_RUN, BROKEN, replace(GOOD, outcome="divergent"))
    scripted = [
        replace(
            outcomes[(place + task * len(arm)) % (2 if arm == "guard" else len(outcomes))],
            fault=fault,
            contract=contract,
            condition=arm,
            task=f"task-{task}",
            seconds=float(10 ** (place % 4)),
        )
        for contract in ("native", "keys_everywhere")
        for fault in CHOICES["faults"]
        for place, arm in enumerate(CHOICES["conditions"])
        for task in range(12)
    ]
    models = [
        replace(row, agent="a-model-with-a-long-name-2030-01-01", fault=fault, task=f"t{row.seed}")
        for fault in ("lost_ack", "late_commit_heavy_tail")
        for row in drawn(*[(TWICE_RUN, GOOD)] * 7)
    ]
    return scripted + [replace(row, tokens=1200) for row in models]


def cell_of_the_bound(contract: str, guard: int) -> str:
    """One line as `retry-guard bound --json` writes it."""
    vector = dict.fromkeys(("worst_duplicates", "worst_false", "worst_omissions"), 0)
    both = ({**vector, "escalations": n, "calls": 10, "seconds": 80.5} for n in (3, guard))
    values = dict(zip(("bound", "guard"), both, strict=True))
    where = {"contract": contract, "shown": "timeout", "script": "1", "schedules": 8}
    return json.dumps({**where, "equal": guard == 3, **values})


BOUNDS = tuple(read_bounds([cell_of_the_bound("bounded_read", 3), cell_of_the_bound("nothing", 8)]))


def test_the_bound_stands_beside_the_guard(full: Report) -> None:
    text = page(full, bounds=BOUNDS)
    said = " ".join(Tree(text).said_in("desc"))
    assert "timeout, hits 1: bound 3 and guard 3 of 8 schedules escalated, equal" in said
    assert "timeout, hits 1: bound 3 and guard 8 of 8 schedules escalated, differs" in said
    assert "equals it in 1 of 2 cells" in text
    assert "3/8" in Tree(text).said_in("td")


@pytest.mark.parametrize("line", ["", "{", "[]", "{}", "null", '{"contract": "read"}'])
def test_a_line_that_is_no_cell_of_the_bound_is_named(line: str) -> None:
    with pytest.raises(BoundError, match=r"^line 2 is no cell"):
        list(read_bounds([cell_of_the_bound("read", 3), line]))


@pytest.fixture(scope="module")
def full() -> Report:
    """The report of rows of every kind."""
    return report(every_kind())


class Tree(HTMLParser):
    """Reads a page; refuses one whose elements are not closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append((self.open[-1] if self.open else "", data))

    def said_in(self, tag: str) -> list[str]:
        """Return the texts directly inside such elements."""
        return [text for place, text in self.texts if place == tag]


def test_equal_rows_give_equal_bytes(full: Report) -> None:
    assert page(full) == page(report(every_kind()))


def test_it_asks_for_nothing_and_runs_nothing(full: Report) -> None:
    text = page(full)
    assert {tag for tag, _ in Tree(text).tags} & {
        "script",
        "link",
        "img",
        "iframe",
        "object",
    } == set()
    assert re.findall(r"https?:|url\(|@import|src=|href=|\son\w+=", text) == []


def test_every_drawing_says_in_words_what_it_shows_and_has_its_table(full: Report) -> None:
    tree = Tree(page(full))
    drawings = [attributes for tag, attributes in tree.tags if tag == "svg"]
    assert len(drawings) == 2 * 3 + 1
    assert all(one["role"] == "img" and one["aria-label"] for one in drawings)
    assert len(tree.said_in("desc")) == len(drawings)
    figures = page(full).split("<figure>")[1:]
    assert len(figures) == len(drawings)
    assert all("<table>" in one.partition("</figure>")[0] for one in figures)


def test_the_charts_and_the_tables_have_the_numbers_of_the_report(full: Report) -> None:
    tree = Tree(page(full))
    said = " ".join(tree.said_in("desc"))
    for line in full.lines:
        if line.condition == "guard":
            assert f"{line.fault} on exactly once {line.on.exactly_once}" in said
            assert all(text in tree.said_in("td") for text in line.texts()[1:])
    for arm in full.summaries:
        cells = f"{arm.counts.exactly_once} of {arm.counts.cells} cells exactly once"
        assert f"{arm.condition}: {cells}" in said


def test_it_names_the_harmed_cells_what_remains_and_what_decided(full: Report) -> None:
    items = Tree(page(full)).said_in("li")
    assert full.harmed
    assert set(full.harmed) <= set(items)
    assert set(full.remaining) <= set(items)
    assert "; ".join(full.findings) in page(full)
    assert page(full, "INCOMPLETE").count("INCOMPLETE") == 1


def test_no_pooled_percentage_stands_anywhere(full: Report) -> None:
    tree = Tree(page(full))
    shown = [text for place, text in tree.texts if place != "style"]
    assert [text for text in shown if "%" in text and "95 %" not in text] == []


def test_whatever_a_name_holds_it_is_text() -> None:
    rows = [replace(row, agent=NAMES, task=NAMES, fault=NAMES) for row in drawn((GOOD, MISSED))]
    tree = Tree(page(report(rows)))
    assert "script" not in {tag for tag, _ in tree.tags}
    assert any(NAMES in text for text in tree.said_in("li"))


def test_no_rows_make_a_page_too() -> None:
    assert "Inconclusive" in page(report([]))


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """Headless Chromium, which CI must have."""
    # A browser is no Python package, so a checkout alone cannot bring it. Where CI
    # is set nothing is skipped, and a missing browser fails.
    if CHROMIUM is None and not os.environ.get("CI"):
        pytest.skip("no Chromium here: install the package `chromium` to see the page in it")
    with browser(tmp_path_factory.mktemp("chromium")) as page_of_it:
        yield page_of_it


@pytest.fixture(scope="module")
def file(full: Report, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page, in a file."""
    made = tmp_path_factory.mktemp("page") / "page.html"
    made.write_text(page(full, "INCOMPLETE (interrupted)", BOUNDS), encoding="utf-8")
    return made


UNFOLD = "document.querySelectorAll('details').forEach(one => { one.open = true; })"
WIDER = """
[...document.querySelectorAll('body *')].filter(e => !e.closest('.box') && !e.closest('svg')
  && e.getBoundingClientRect().right > WIDTH + 1).map(e => e.outerHTML.slice(0, 80))
"""
OUTSIDE = """
[...document.querySelectorAll('svg')].flatMap(svg => {
  const box = svg.getBoundingClientRect();
  return [...svg.querySelectorAll('text')].filter(text => {
    const it = text.getBoundingClientRect();
    return it.left < box.left - 1 || it.right > box.right + 1 || it.bottom > box.bottom + 1;
  }).map(text => text.textContent);
})
"""
CLASHING = """
[...document.querySelectorAll('svg')].flatMap(svg => {
  const boxes = [...svg.querySelectorAll('text')].filter(t => t.textContent).map(
    text => [text.textContent, text.getBoundingClientRect()]);
  return boxes.flatMap(([one, a], i) => boxes.slice(i + 1).filter(([_, b]) =>
    Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 &&
    Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3).map(([other]) => [one, other]));
})
"""
DRAWN = """
[...document.querySelectorAll('svg')].map(svg => svg.getBoundingClientRect().width > 200
  && [...svg.querySelectorAll('rect, circle')].filter(
    e => e.getBoundingClientRect().width > 0 && getComputedStyle(e).fill !== 'rgb(0, 0, 0)').length)
"""


@pytest.mark.parametrize(("width", "dark"), [(360, False), (360, True), (1280, False)])
def test_it_can_be_read_on_a_phone_and_on_a_desk(
    width: int, dark: bool, chromium: Page, file: Path, tmp_path: Path
) -> None:
    chromium.requests.clear()
    chromium.show(file.as_uri(), width=width, dark=dark)
    assert chromium.requests == [file.as_uri()]
    for unfold in ("", UNFOLD):
        chromium.value(unfold)
        # Not held against innerWidth: a phone zooms out until that is wide enough.
        assert chromium.value("document.documentElement.scrollWidth") <= width
        assert chromium.value(WIDER.replace("WIDTH", str(width))) == []
    assert chromium.value(OUTSIDE) == []
    assert chromium.value(CLASHING) == []
    drawn_shapes = chromium.value(DRAWN)
    assert len(drawn_shapes) == 7 + len(BOUNDS)
    assert all(drawn_shapes)
    ground = chromium.value("getComputedStyle(document.body).backgroundColor")
    assert (ground == "rgb(20, 23, 26)") == dark
    chromium.picture(tmp_path / "page.png")
    assert (tmp_path / "page.png").read_bytes().startswith(b"\x89PNG")
