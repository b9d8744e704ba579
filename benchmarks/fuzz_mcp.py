"""Hostile lines from both sides of the MCP proxy, and histories over HTTP, for some minutes.

`python benchmarks/fuzz_mcp.py [--minutes 5] [--seed 0]` plays both side by side. Each stops at the
first session, or history, in which something does not hold, names its seed, and leaves its folder
behind.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1] / "tests"
FUZZERS = (TESTS / "mcp_servers_fuzz.py", TESTS / "mcp_proxy_url_histories.py")


def run(minutes: float, seed: int) -> int:
    """Play for that long; return 1 if something did not hold."""
    playing: list[subprocess.Popen[bytes]] = []
    for fuzzer in FUZZERS:
        folder = tempfile.mkdtemp(prefix="fuzz-mcp-")
        command = [sys.executable, str(fuzzer), folder, str(60 * minutes), str(seed)]
        playing.append(subprocess.Popen(command))
    return max([abs(one.wait()) for one in playing])


def main() -> int:
    """Run until the time is over."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0, help="how long (default 5)")
    parser.add_argument("--seed", type=int, default=0, help="the first seed (default 0)")
    given = parser.parse_args()
    return min(run(given.minutes, given.seed), 1)


if __name__ == "__main__":
    sys.exit(main())
