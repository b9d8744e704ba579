"""Handing a write over to the operator, because the scaffold asks to."""

from retry_guard import Answer
from retry_guard_sandbox.agents import ToolCall
from retry_guard_sandbox.conditions import Asked, Setting
from retry_guard_sandbox.conditions._course import Course, without_key
from retry_guard_sandbox.world._http import Json


def ask(setting: Setting, asked: Asked) -> Json:
    """Hand over the write that was asked about; return the answer as an agent reads it.

    That is an escalation, needed or not, in a course that began with the first request for it.
    """
    call, seen = asked.call, setting.world.wire.seen
    wanted = (call.tool, without_key(call.arguments))
    sends = [i for i, s in enumerate(seen) if (s.request.tool, s.request.arguments) == wanted]
    begun = seen[sends[0]].begun if sends else setting.world.clock.time
    first = sends[0] if sends else len(seen)
    course = Course(setting, Asked(ToolCall(*wanted), asked.turn, asked.call_id), 0, begun, first)
    return _read(course.hand_over(wanted[1], begun))


def _read(answer: Answer | None) -> Json:
    if answer is None:
        return {"answer": None, "note": "nobody answered"}
    said: Json = {"answer": answer.what, "final": answer.final}
    return said if answer.result is None else {**said, "result": answer.result}
