"""The desk of a guard that is switched off: it owns nothing, knows nothing and keeps nothing."""

from retry_guard_mcp_proxy._messages import Message


class OffDesk:
    """Lets everything pass. It needs no contracts, no ledger and no secret: they may be broken."""

    def owns(self, message: Message) -> bool:  # noqa: ARG002 - as it is called
        """No tool is guarded."""
        return False

    def take(self, request: Message) -> None:
        """No call is carried out here."""

    def cancel(self, given: object) -> bool:  # noqa: ARG002 - as it is called
        """Nor cancelled."""
        return False

    def waits_for(self, given: object) -> bool:  # noqa: ARG002 - as it is called
        """Nobody waits for one."""
        return False

    def progress(self, message: Message) -> list[Message] | None:  # noqa: ARG002 - as it is called
        """All progress is of others."""
        return None

    def told(self, response: Message) -> bool:  # noqa: ARG002 - as it is called
        """Nobody is asked anything."""
        return False

    def shown(
        self,
        response: Message,  # noqa: ARG002 - as it is called
        *,
        is_old: bool = False,  # noqa: ARG002 - (the same)
    ) -> Message | None:
        """The client sees every list as it is."""
        return None

    def passes(self, message: Message) -> None:
        """What passes is nobody's affair."""

    def answered(self, response: Message) -> None:
        """Nor is its answer."""

    def lost(self, error: Exception, given: object = None) -> None:
        """Nor that there will be none."""

    def renewed(self, *, is_same: bool = False) -> None:
        """Nothing is known of any server."""

    async def settled(self) -> None:
        """No call is under way."""

    async def close(self) -> None:
        """Nothing is open."""
