"""What the harnesses show of a call: the user intent that it belongs to, and the call's own id."""

from retry_guard_mcp_proxy._messages import Message, meta_of, object_in, params_of

_CODEX = "x-codex-turn-metadata"
_CALL_IDS = ("callId", "claudecode/toolUseId")


def turn_of(request: Message) -> str | None:
    """Return the id of the turn; None where the harness shows none: then time decides.

    The ids of calls, threads, sessions and processes are no turns.
    """
    turn = object_in(meta_of(params_of(request)), _CODEX).get("turn_id")
    return turn if isinstance(turn, str) and turn else None


def call_id_of(request: Message) -> str | int:
    """Return the model's id of a call, else that of its request: for the audit alone."""
    meta = meta_of(params_of(request))
    for name in _CALL_IDS:
        if isinstance(meta.get(name), str):
            return str(meta[name])
    given = request["id"]
    return given if isinstance(given, str | int) else str(given)
