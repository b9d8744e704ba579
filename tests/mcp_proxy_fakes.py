"""A server in this process, for the proxy's desk without a pipe."""

import math

from retry_guard_mcp_proxy._messages import Message


class QuietServer:
    """What each such server needs beside its answers. `count`: the ids that it gave."""

    lasts = math.inf

    def __init__(self) -> None:
        self.count = 0

    def new_id(self) -> str:
        self.count += 1
        return f"own-{self.count}"

    def is_own(self, token: object) -> bool:
        return str(token).startswith("own-")

    async def pass_on(self, line: bytes, message: Message | list[Message]) -> None:
        raise AssertionError(f"nothing passes here, and this did: {line!r} {message}")

    async def close(self, patience: object) -> None:
        pass
