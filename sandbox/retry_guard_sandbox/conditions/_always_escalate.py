"""The rule that a person decides about every write whose answer was not clear."""

from retry_guard_sandbox.conditions._asking import as_an_operator_says, left_since
from retry_guard_sandbox.conditions._course import Course
from retry_guard_sandbox.world._http import Json


def always_escalate(course: Course, arguments: Json) -> Json:
    """Ask an operator at the first answer that is not clear, and do what is said."""
    if not course.is_write:
        return course.send(arguments)
    since = left_since(course)
    if since is None:
        result = course.attempt(arguments)
        if result is not None:
            return result
        since = course.begun
    return as_an_operator_says(course, arguments, since)
