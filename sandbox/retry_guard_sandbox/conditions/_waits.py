"""Waiting, reading back, and sending once more: verification in place of keys."""

from collections.abc import Callable

from retry_guard_sandbox.agents import Found
from retry_guard_sandbox.conditions._asking import as_an_operator_says, left_since
from retry_guard_sandbox.conditions._course import Course, without_key
from retry_guard_sandbox.world._http import Json

RESENDS = 1


def reading_after(seconds: float) -> Callable[[Course, Json], Json]:
    """Return the rule that waits so long from the end of a send, and then looks.

    Present is done, and absent is sent once more. It uses no key, also where the tool takes one
    and the agent gave one: it is what waiting can do alone. Where nothing can be read, where the
    read fails or shows it in part or twice, and where the second send is absent too, a person
    is asked.
    """

    def way(course: Course, arguments: Json) -> Json:
        arguments = without_key(arguments)
        if not course.is_write:
            return course.send(arguments)
        since = left_since(course)
        if since is None:
            result = _verified(course, arguments, seconds)
            if result is not None:
                return result
            since = course.begun
        return as_an_operator_says(course, arguments, since)

    return way


def _verified(course: Course, arguments: Json, seconds: float) -> Json | None:
    """Send, wait and look, once more where it is absent; None where that settles nothing."""
    for _ in range(1 + RESENDS):
        result = course.attempt(arguments)
        if result is not None:
            return result
        seen = _look(course, arguments, seconds)
        if seen.what != "absent":
            return seen.result
    return None


def _look(course: Course, arguments: Json, seconds: float) -> Found:
    """Wait, then look; do not wait for nothing where nothing can be read."""
    if course.tool.look is None:
        return Found("unclear")
    course.sleep(seconds)
    return course.look(arguments) or Found("unclear")
