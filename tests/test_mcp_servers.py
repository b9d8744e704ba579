"""Servers that nobody here wrote, killed right after a write: what they hold is counted."""

from pathlib import Path

import pytest

from mcp_servers_client import EndedError, Message
from mcp_servers_sites import HURT, MEMORY, SITES, Site, broken, direct, guarded, session

pytestmark = pytest.mark.filterwarnings("default::pytest.PytestUnraisableExceptionWarning")


def text_of(result: Message) -> str:
    return "".join(block["text"] for block in result["content"])


@pytest.mark.parametrize("site", HURT, ids=lambda site: site.name)
def test_a_client_that_sends_a_lost_call_again_writes_twice(site: Site, tmp_path: Path) -> None:
    site.prepare(tmp_path)
    broken(tmp_path, site, "answered")
    with session(direct(site, tmp_path), tmp_path) as client, pytest.raises(EndedError):
        client.call(site.tool, site.arguments(tmp_path))
    assert site.count(tmp_path) == 1, "it was committed before the server was killed"
    site.meanwhile(tmp_path)
    with session(direct(site, tmp_path), tmp_path) as client:
        client.call(site.tool, site.arguments(tmp_path))
    assert site.count(tmp_path) == 2
