"""The report as JUnit: one test case for each cell of a judged arm."""

from collections.abc import Sequence
from xml.etree import ElementTree as ET

from retry_guard_sandbox.grading._census import Cell, Draws
from retry_guard_sandbox.reports._failings import failings, is_duplicate
from retry_guard_sandbox.reports._report import Report


def junit(report: Report, note: str = "") -> str:
    """Return an XML document.

    A case fails where its cell would block, and is an error where an episode broke. `note`: what
    is special about the run.
    """
    root = ET.Element("testsuites", name="retry-guard")
    harmed = frozenset(change.cell for change in report.harms)
    for arm in report.subjects:
        suite = ET.SubElement(root, "testsuite", name=arm)
        properties = ET.SubElement(suite, "properties")
        for name, value in (("verdict", report.verdict), ("note", note)):
            ET.SubElement(properties, "property", name=name, value=_plain(value))
        for cell, draws in report.census.arm(arm):
            _add(suite, cell, draws, failings(cell, draws, harmed))
        _count(suite)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=False) + "\n"


def _add(suite: ET.Element, cell: Cell, draws: Draws, failed: Sequence[str]) -> None:
    place = _plain(f"{suite.get('name')}.{cell.contract}.{cell.fault}")
    case = ET.SubElement(suite, "testcase", classname=place, name=_plain(cell.name))
    outcomes = ", ".join(f"seed {seed}: {draw.outcome}" for seed, draw in sorted(draws.items()))
    if any(draw.outcome == "error" for draw in draws.values()):
        ET.SubElement(case, "error", type="error", message="an episode broke").text = outcomes
    elif failed:
        kinds = ", ".join(failed)
        ET.SubElement(case, "failure", type=kinds, message=kinds).text = outcomes
    elif any(is_duplicate(draw) for draw in draws.values()):
        text = f"one send itself ran twice: no client can prevent it ({outcomes})"
        ET.SubElement(case, "system-out").text = text


def _count(suite: ET.Element) -> None:
    for name, tag in (("tests", "testcase"), ("failures", "*/failure"), ("errors", "*/error")):
        suite.set(name, str(len(suite.findall(tag))))


def _plain(text: str) -> str:
    """Return text that XML can hold."""
    return "".join(
        letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text
    )
