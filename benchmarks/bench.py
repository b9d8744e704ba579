"""Side by side with raw calls: prints ratios of one run, and whether each is within its target.

`python benchmarks/bench.py --check` exits 1 if one is not.
"""

import argparse
import sys

import ledger


def main() -> int:
    """Measure everything; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="exit 1 if a target is missed")
    parser.add_argument("--rounds", type=int, default=200, help="rounds of each (default 200)")
    given = parser.parse_args()
    met = True
    for result in ledger.measure(given.rounds):
        print(result.line(), flush=True)
        met = met and result.met
    return 0 if met or not given.check else 1


if __name__ == "__main__":
    sys.exit(main())
