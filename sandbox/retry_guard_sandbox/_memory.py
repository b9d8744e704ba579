"""How much memory this process has needed."""

import sys
from pathlib import Path

_STATUS = Path("/proc/self/status")


def peak_memory() -> int:
    """Return the most memory this process has held at once, in bytes; 0: nobody tells."""
    try:
        lines = _STATUS.read_text(encoding="ascii").splitlines()
    except OSError:
        return _used()
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM")), 0)


def _used() -> int:
    try:
        import resource  # noqa: PLC0415 - not on every system
    except ImportError:
        return 0
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
