"""Hostile lines from both sides of the MCP proxy for some minutes, one session after the other.

`python benchmarks/fuzz_mcp.py [--minutes 5] [--seed 0]` stops at the first session in which
something does not hold, names its seed, and leaves its folder behind.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

FUZZER = Path(__file__).resolve().parents[1] / "tests" / "mcp_servers_fuzz.py"


def run(minutes: float, seed: int) -> int:
    """Play sessions for that long; return 1 if something did not hold."""
    folder = tempfile.mkdtemp(prefix="fuzz-mcp-")
    command = [sys.executable, str(FUZZER), folder, str(60 * minutes), str(seed)]
    return subprocess.run(command, check=False).returncode


def main() -> int:
    """Run until the time is over."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0, help="how long (default 5)")
    parser.add_argument("--seed", type=int, default=0, help="the first seed (default 0)")
    given = parser.parse_args()
    return run(given.minutes, given.seed)


if __name__ == "__main__":
    sys.exit(main())
