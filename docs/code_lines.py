"""Count lines that hold code: no blank lines, no comments, no docstrings.

`python docs/code_lines.py [FOLDER_OR_FILE ...]` prints the number for each.
"""

import ast
import io
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

NOT_CODE = {
    tokenize.COMMENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
    tokenize.INDENT,
    tokenize.NEWLINE,
    tokenize.NL,
}

Position = tuple[int, int]


def _docstrings(source: str) -> Iterator[tuple[Position, Position]]:
    """Yield where each docstring begins and ends."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        match node.body:
            case [ast.Expr(value=ast.Constant(value=str()) as text), *_]:
                end = (text.end_lineno or text.lineno, text.end_col_offset or 0)
                yield (text.lineno, text.col_offset), end
            case _:
                pass


def code_lines(source: str) -> set[int]:
    """Return the numbers of the physical lines of `source` that a token of code touches."""
    docstrings = tuple(_docstrings(source))
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in NOT_CODE:
            continue
        if not any(start <= token.start and token.end <= end for start, end in docstrings):
            lines.update(range(token.start[0], token.end[0] + 1))
    return lines


def count_path(path: Path) -> int:
    """Return the lines of code of a file, or of every Python file below a folder."""
    files = sorted(path.rglob("*.py")) if path.is_dir() else [path]
    return sum(len(code_lines(file.read_text(encoding="utf-8"))) for file in files)


if __name__ == "__main__":
    for name in sys.argv[1:] or ["guard_core"]:
        print(f"{count_path(Path(name)):6} {name}")
