"""Side by side with raw calls and peers: what one run measured, and whether each target is met.

`python benchmarks/bench.py --check` exits 1 if a target is missed.
"""

import argparse
import sys
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType

from sides import Result, report

PARTS = ("ledger", "adapters", "mcp_proxy")
"""Modules beside this one, each with `measure(rounds)`."""


def main() -> int:
    """Measure everything; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="exit 1 if a target is missed")
    parser.add_argument("--rounds", type=int, default=200, help="rounds of each (default 200)")
    parser.add_argument("--only", choices=PARTS, help="measure this part alone")
    given = parser.parse_args()
    met = [report(part(name, given.rounds)) for name in PARTS if given.only in (None, name)]
    return 0 if all(met) or not given.check else 1


def part(name: str, rounds: int) -> Iterator[Result]:
    """Measure one part; where a library that it runs beside is not installed, say so."""
    try:
        found: ModuleType = import_module(name)
    except ModuleNotFoundError as error:
        yield Result(name, None, note=f"{error.name} is not installed")
    else:
        yield from found.measure(rounds)


if __name__ == "__main__":
    sys.exit(main())
