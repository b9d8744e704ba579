"""Doing what an operator says, as the conditions do that hand over."""

from retry_guard import Answer
from retry_guard_sandbox.conditions._course import CLIENT_ERRORS, Course, WithheldError
from retry_guard_sandbox.world._http import Json

ASKS = 3
"""How often an operator answers in one call, about one send after the other, in every arm."""

Left = dict[tuple[str, str], float]
"""What was handed over and not settled: turn and action, with the time of the first send."""


def left_since(course: Course) -> float | None:
    """Return when an equal call of this turn was sent that a person has not settled yet."""
    left: Left = course.kept("left")
    return left.get(_name(course))


def as_an_operator_says(course: Course, arguments: Json, since: float) -> Json:
    """Hand the call over, and send it again where an operator says that it did not happen.

    Raises `WithheldError` where nobody says what happened, and what the client does.
    """
    left: Left = course.kept("left")
    left[_name(course)] = since
    try:
        result = _settled(course, arguments, since)
    except CLIENT_ERRORS:
        del left[_name(course)]
        raise
    del left[_name(course)]
    return result


def _settled(course: Course, arguments: Json, since: float) -> Json:
    for asked in range(1, ASKS + 1):
        match course.hand_over(arguments, since):
            case Answer("happened", result):
                known: Json = result
                return known
            case Answer("did_not_happen") if asked < ASKS:
                since = course.now
                sent = course.attempt(arguments)
                if sent is not None:
                    return sent
            case _:
                break
    raise WithheldError("no clear answer came, and this was left to a person")


def _name(course: Course) -> tuple[str, str]:
    return course.asked.turn, course.tool.action(course.plain)
