"""The examples of our own pages, run as they stand, on a real server whose answers get lost."""

import re
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from faulty import faulty_server_in

ROOT = Path(__file__).resolve().parents[1]
every_fault = pytest.mark.parametrize("fault", ["ok", "lost_ack", "error_after", "reset_before"])


def examples(page: str, language: str = "python") -> list[str]:
    """The blocks of a page, such as `docs/contracts.md`."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


@contextmanager
def example_that_charges_once(page: str, fault: str, folder: Path) -> Generator[dict[str, Any]]:
    """Run a page's only example, give its names, and see at last that it charged 1200 once.

    `fault`: what the first request for the charge meets.
    """
    (code,) = examples(page)
    names: dict[str, Any] = {"__name__": "example"}
    with faulty_server_in(folder / "server") as server:
        server.plan("order-7", fault)
        code = code.replace("http://127.0.0.1:8080", server.url)
        code = code.replace("sqlite:///guard.db", f"sqlite:///{folder}/guard.db")
        exec(compile(code, page, "exec"), names)  # noqa: S102 - our own page
        yield names
        assert [effect["body"]["amount"] for effect in server.effects("order-7")] == [1200]
