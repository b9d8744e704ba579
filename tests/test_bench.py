"""`make bench`: one table, in which what could not be measured is a line, and no end of it."""

import subprocess
import sys
from pathlib import Path

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
FINE = """
from sides import Result
def measure(rounds):
    yield Result("for comparison", 0.25)
    yield Result("within", 1.0, 1.0)
    yield Result("beyond", rounds, 1.0, " (ms)")
"""


def run(folder: Path, code: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run code beside the benchmarks and what lies in a folder."""
    path = f"import sys; sys.path[:0] = [{str(BENCHMARKS)!r}, {str(folder)!r}]; {code}"
    command = [sys.executable, "-c", path, *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_part_that_lacks_its_library_is_one_line_and_a_missed_target_the_exit_code(
    tmp_path: Path,
) -> None:
    (tmp_path / "lacking.py").write_text("import no_such_library", encoding="utf-8")
    (tmp_path / "fine.py").write_text(FINE, encoding="utf-8")
    code = "import bench; bench.PARTS = ('lacking', 'fine'); sys.exit(bench.main())"
    done = run(tmp_path, code, "--check", "--rounds", "3")
    assert [" ".join(line.split()) for line in done.stdout.splitlines()] == [
        "SKIPPED lacking: no_such_library is not installed",
        "0.250 for comparison",
        "pass 1.000 (target 1.00) within",
        "FAIL 3.000 (target 1.00) beyond (ms)",
    ]
    assert (done.returncode, done.stderr) == (1, "")
    assert run(tmp_path, code, "--rounds", "3").returncode == 0
    assert run(tmp_path, code, "--check", "--rounds", "1").returncode == 0


def test_a_peer_that_cannot_be_installed_is_left_out_and_the_reason_is_one_line(
    tmp_path: Path,
) -> None:
    (tmp_path / "tests").mkdir()
    installer = tmp_path / "tests" / "mcp_servers_installed.py"
    installer.write_text("raise RuntimeError('pip failed:\\nno such host')", encoding="utf-8")
    code = (
        "import mcp_sides; from pathlib import Path; here = Path(sys.argv[1]); "
        "mcp_sides.ROOT = here; print(mcp_sides.no_fastmcp()); "
        "print(*mcp_sides.commands(here, fastmcp=False), sep=', ')"
    )
    done = run(tmp_path, code, str(tmp_path))
    assert done.stdout.splitlines() == ["no such host", "direct, the proxy"]
    assert (done.returncode, done.stderr) == (0, "")
