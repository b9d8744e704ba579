"""How a claim of a new action costs more as the ledger grows: ratios to the smallest.

`python benchmarks/scale.py [--largest 1000000]`
"""

import argparse
import sys
import tempfile
from functools import partial
from pathlib import Path

from ledger import SMALL, claims, filled
from sides import draft, ratio_of

ROUNDS = 100


def main() -> int:
    """Fill ledgers, each ten times as large as the one before; print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--largest", type=int, default=1_000_000, help="records (default 1000000)")
    largest: int = parser.parse_args().largest
    with tempfile.TemporaryDirectory(prefix="scale-") as name:
        folder, size = Path(name), SMALL * 10
        small = filled(folder / "small.db", (draft() for _ in range(SMALL)))
        while size <= largest:
            large = filled(folder / f"{size}.db", (draft() for _ in range(size)))
            ratio = ratio_of(ROUNDS, partial(claims, large), partial(claims, small))
            print(f"{ratio:6.2f}  claim at {size:,} records / at {SMALL:,}", flush=True)
            large.close()
            size *= 10
        small.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
