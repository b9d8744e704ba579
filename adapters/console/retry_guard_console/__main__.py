"""`python -m retry_guard_console`: the command, where no script of it is at hand."""

import sys

from retry_guard_console import main

if __name__ == "__main__":
    sys.exit(main())
