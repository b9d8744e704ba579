"""Write the generated parts of the pages: `make docs`, and `make docs-check` to compare only.

A part stands between `<!-- generated: NAME -->` and `<!-- end -->`, each on a line of its own.
`PAGES` says which function makes which part; a page must hold every one of its parts once.
"""

import argparse
import ast
import difflib
import inspect
import re
import sys
import textwrap
import tomllib
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
LINE = re.compile(r"^The line to add is `(.+)`\.$", re.MULTILINE)
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


def adapters_table() -> str:
    """Return a row for each adapter of a harness: those that have a page and an extra.

    The name is the page's heading, the line to add stands in its text, and the versions are
    those of the extra in pyproject.toml.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras: dict[str, list[str]] = project["project"]["optional-dependencies"]
    rows = "| adapter | extra | works with | the line to add |\n|---|---|---|---|\n"
    for page in sorted((ROOT / "adapters").glob("*/README.md")):
        extra, text = page.parent.name.replace("_", "-"), page.read_text(encoding="utf-8")
        line = LINE.search(text)
        if extra not in extras or line is None:
            raise OutOfStepError(f"{page}: needs `The line to add is …` and an extra {extra!r}")
        name = text.partition("\n")[0].lstrip("# ")
        needs = ", ".join(f"`{each}`" for each in sorted(extras[extra]))
        link = f"[{name}](../{page.relative_to(ROOT).as_posix()})"
        rows += f"| {link} | `{extra}` | {needs} | `{line[1]}` |\n"
    return rows


GENERATORS: Mapping[str, Callable[[], str]] = {
    "decision-table": decision_table,
    "line-counts": line_counts,
}
PAGES: Mapping[Path, Mapping[str, Callable[[], str]]] = {
    README: GENERATORS,
    ROOT / "docs/adapters.md": {"adapters": adapters_table},
}


def regenerate(text: str, generators: Mapping[str, Callable[[], str]]) -> str:
    """Return `text` with every generated part made anew."""
    names = [part["name"] for part in PART.finditer(text)]
    if len(MARK.findall(text)) != 2 * len(names):
        raise OutOfStepError("a `<!-- generated: NAME -->` lacks its `<!-- end -->`, or reverse")
    if sorted(names) != sorted(generators):
        raise OutOfStepError(
            f"the page must hold each of these parts once: {', '.join(sorted(generators))}; "
            f"it holds: {', '.join(names) or 'none'}"
        )
    return PART.sub(lambda part: part["begin"] + generators[part["name"]]() + part["end"], text)


def main() -> int:
    """Write the pages anew, or with `--check` print how they differ and return 1."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="compare only, and write nothing")
    check: bool = parser.parse_args().check
    return max(_page(page, generators, check=check) for page, generators in PAGES.items())


def _page(page: Path, generators: Mapping[str, Callable[[], str]], *, check: bool) -> int:
    old, name = page.read_text(encoding="utf-8"), page.relative_to(ROOT).as_posix()
    try:
        new = regenerate(old, generators)
    except OutOfStepError as error:
        print(f"error: {name}: {error}", file=sys.stderr)
        return 2
    if old == new:
        print(f"{name} is up to date")
        return 0
    if check:
        lines = difflib.unified_diff(
            old.splitlines(), new.splitlines(), name, f"{name} as generated", lineterm=""
        )
        print("\n".join([*lines, f"error: {name} is out of date: run `make docs`"]))
        return 1
    page.write_text(new, encoding="utf-8")
    print(f"{name} was written anew")
    return 0


if __name__ == "__main__":
    sys.exit(main())
