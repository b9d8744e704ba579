"""Write the generated parts of README.md: `make docs`, and `make docs-check` to compare only.

A part stands between `<!-- generated: NAME -->` and `<!-- end -->`, each on a line of its own.
`GENERATORS` says which function makes which part; README.md must hold every one of them once.
"""

import argparse
import ast
import difflib
import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path

import retry_guard_core
from code_lines import count_path

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
CORE = "guard_core"
ONE_CALL = (
    CORE,
    "adapters/python",
    "adapters/contracts",
    "adapters/outcomes",
    "adapters/ledgers",
)
PART = re.compile(
    r"(?P<begin>^<!-- generated: (?P<name>.+?) -->\n)(?P<text>.*?)(?P<end>^<!-- end -->$)",
    re.MULTILINE | re.DOTALL,
)
MARK = re.compile(r"^<!-- (generated: .*|end) -->$", re.MULTILINE)


class OutOfStepError(Exception):
    """What should be generated cannot be: two things that must agree do not."""


def line_counts() -> str:
    """Return both line counts: of the core, and of all that one Python call runs through."""
    folders = ", ".join(f"`{folder}`" for folder in ONE_CALL)
    core, whole = count_path(ROOT / CORE), sum(count_path(ROOT / folder) for folder in ONE_CALL)
    return (
        "| part | lines of code |\n"
        "|---|---|\n"
        f"| the core: `{CORE}` | {core:,} |\n"
        f"| the whole path of one Python call: {folders} | {whole:,} |\n"
    )


def table_of(decide: Callable[..., object]) -> str:
    """Return the table in the docstring of `decide`, held against the rows of its code.

    The first column names, in code marks, the rows: each `Verdict("name", …)` in its order.
    """
    table = [line for line in (inspect.getdoc(decide) or "").splitlines() if line.startswith("|")]
    told = re.findall(r"^\| `(\w+)`", "\n".join(table), re.MULTILINE)
    calls = [node for node in ast.walk(_parsed(decide)) if isinstance(node, ast.Call)]
    coded = [
        str(ast.literal_eval(call.args[0]))
        for call in sorted(calls, key=lambda call: (call.lineno, call.col_offset))
        if isinstance(call.func, ast.Name) and call.func.id == "Verdict"
    ]
    if told != coded:
        raise OutOfStepError(f"the table tells of the rows {told}, and the code has {coded}")
    return "".join(re.sub(r" +", " ", line) + "\n" for line in table)


def _parsed(function: Callable[..., object]) -> ast.Module:
    """Return the syntax tree of the source of `function`."""
    return ast.parse(textwrap.dedent(inspect.getsource(function)))


def decision_table() -> str:
    """Return the core's decision table."""
    return table_of(retry_guard_core.decide)


GENERATORS: Mapping[str, Callable[[], str]] = {
    "decision-table": decision_table,
    "line-counts": line_counts,
}


def regenerate(text: str, generators: Mapping[str, Callable[[], str]]) -> str:
    """Return `text` with every generated part made anew."""
    names = [part["name"] for part in PART.finditer(text)]
    if len(MARK.findall(text)) != 2 * len(names):
        raise OutOfStepError("a `<!-- generated: NAME -->` lacks its `<!-- end -->`, or reverse")
    if sorted(names) != sorted(generators):
        raise OutOfStepError(
            f"README.md must hold each of these parts once: {', '.join(sorted(generators))}; "
            f"it holds: {', '.join(names) or 'none'}"
        )
    return PART.sub(lambda part: part["begin"] + generators[part["name"]]() + part["end"], text)


def main() -> int:
    """Write README.md anew, or with `--check` print how it differs and return 1."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="compare only, and write nothing")
    check: bool = parser.parse_args().check
    old = README.read_text(encoding="utf-8")
    try:
        new = regenerate(old, GENERATORS)
    except OutOfStepError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if old == new:
        print("README.md is up to date")
        return 0
    if check:
        lines = difflib.unified_diff(
            old.splitlines(), new.splitlines(), "README.md", "README.md as generated", lineterm=""
        )
        print("\n".join([*lines, "error: README.md is out of date: run `make docs`"]))
        return 1
    README.write_text(new, encoding="utf-8")
    print("README.md was written anew")
    return 0


if __name__ == "__main__":
    sys.exit(main())
