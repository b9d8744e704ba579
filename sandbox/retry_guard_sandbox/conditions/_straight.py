"""Beneath a guard, and where there is nothing at all: each call goes out as it came, once."""

from retry_guard_sandbox.conditions._course import Course
from retry_guard_sandbox.world._http import Json


def straight(course: Course, arguments: Json) -> Json:
    """Send it."""
    return course.send(arguments)
