"""The rule that nothing is ever repeated."""

from retry_guard_sandbox.conditions._course import CLIENT_ERRORS, Course, WithheldError, is_unclear
from retry_guard_sandbox.world._http import Json


def never_retry(course: Course, arguments: Json) -> Json:
    """Send no write again, in the turn in which its answer was not clear.

    It is remembered before it is sent, so a process that dies leaves it remembered.
    """
    if not course.is_write:
        return course.send(arguments)
    unclear = course.kept("never_retry")
    name = (course.asked.turn, course.tool.action(course.plain))
    if name in unclear:
        raise WithheldError("not sent: an equal call had no clear answer, and is not repeated")
    unclear[name] = True
    try:
        result = course.send(arguments)
    except CLIENT_ERRORS as error:
        if not is_unclear(error):
            del unclear[name]
        raise
    del unclear[name]
    return result
