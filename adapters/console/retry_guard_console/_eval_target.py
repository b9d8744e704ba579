"""What `retry-guard eval` runs: a function in a process, or a command with an MCP configuration."""

import json
import shlex
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from retry_guard_console._joining import TOKEN

if TYPE_CHECKING:
    from retry_guard_sandbox import evaluation

CONFIG = "RETRY_GUARD_MCP_CONFIG"


@dataclass(frozen=True, slots=True)
class TargetGiven:
    """What is run. `words`: as it was given."""

    launch: "evaluation.Launch"
    words: tuple[str, ...]
    is_function: bool

    def replay(self, episode: str) -> str:
        """Return the command that runs one episode again."""
        option = f"retry-guard eval --episode {shlex.quote(episode)}"
        between = "" if self.is_function else " --"
        return f"{option}{between} {shlex.join(self.words)}"


def target_of(words: Sequence[str]) -> TargetGiven:
    """Return what was given, once it is known that it can be run; raises `TargetError`.

    One word with a colon in it is `module:function`; anything else is a command.
    """
    from retry_guard_sandbox import evaluation

    if not words:
        raise evaluation.TargetError("give module:function, or -- and a command")
    if len(words) == 1 and _is_function(words[0]):
        launch = evaluation.function(words[0])
        return TargetGiven(launch, tuple(words), is_function=True)
    if shutil.which(words[0]) is None:
        raise evaluation.TargetError(
            f"{words[0]} is no command that can be run: give module:function, or -- and a command"
        )
    return TargetGiven(evaluation.command(words, _configured), tuple(words), is_function=False)


def _is_function(word: str) -> bool:
    module, colon, path = word.partition(":")
    return bool(colon) and all(
        part.isidentifier() for part in (*module.split("."), *path.split("."))
    )


def _configured(visit: "evaluation.Visit") -> dict[str, str]:
    """Write the configuration of an MCP client; return what points a command to it."""
    server = {
        "command": sys.executable,
        "args": ["-P", "-m", "retry_guard_console", "sandbox", "--join", visit.address],
        "env": {TOKEN: visit.token},
    }
    path = visit.folder / "mcp.json"
    path.write_text(json.dumps({"mcpServers": {"sandbox": server}}), encoding="utf-8")
    return {CONFIG: str(path)}
