"""Random examples: the property tests again and again with another seed, then the MCP proxy.

`python benchmarks/fuzz.py [--minutes 5] [--seed 0]`, that long for each, stops at the first
failure, and names the seed that shows it again.
"""

import argparse
import subprocess
import sys
import time
from pathlib import Path

import fuzz_mcp

ROOT = Path(__file__).resolve().parents[1]


def main() -> int:
    """Run until the time is over; return 1 if a property failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0, help="how long (default 5)")
    parser.add_argument("--seed", type=int, default=0, help="the first seed (default 0)")
    given = parser.parse_args()
    seed, until = given.seed, time.monotonic() + 60 * given.minutes
    while time.monotonic() < until:
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "auto", *property_tests()]
        command.append(f"--hypothesis-seed={seed}")
        if subprocess.run(command, cwd=ROOT, check=False).returncode:
            print(f"a property fails with --seed {seed}", file=sys.stderr)
            return 1
        print(f"seed {seed}: nothing found", flush=True)
        seed += 1
    return fuzz_mcp.run(given.minutes, given.seed)


def property_tests() -> list[str]:
    """Return the test files that use Hypothesis."""
    files = sorted((ROOT / "tests").glob("test_*.py"))
    return [str(file) for file in files if "hypothesis" in file.read_text(encoding="utf-8")]


if __name__ == "__main__":
    sys.exit(main())
