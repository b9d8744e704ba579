"""The large scope of what the test suite does small: all interleavings, many kills.

`python benchmarks/soak.py` takes an hour or more on two cores; arguments go on to pytest.
"""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TESTS = ("tests/test_core_interleavings.py", "tests/test_real_kills.py")


def main() -> int:
    """Run the tests that know a larger scope, with it; return pytest's exit code."""
    command = [sys.executable, "-m", "pytest", "-n", "auto", *TESTS, *sys.argv[1:]]
    environment = {**os.environ, "SOAK": "1"}
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
