"""The retry that client libraries do by themselves."""

from retry_guard_sandbox.conditions._course import CLIENT_ERRORS, SERVER_ERROR, Course
from retry_guard_sandbox.world._http import APIStatusError, Json

RESENDS = 2
PAUSE = 0.5
"""Seconds before the first re-send; doubled before the next."""
RETRIED = frozenset({408, 409, 429})
"""Besides these, every status from 500 on."""


def sdk_retry(course: Course, arguments: Json) -> Json:
    """Re-send the same bytes where no answer came, or one that looks temporary. Adds no key.

    So do the clients of model providers, with their two re-sends; those give their own requests
    a key where it matters, which whoever calls somebody else's service with them does not get.
    """
    for again in range(RESENDS):
        try:
            return course.send(arguments)
        except CLIENT_ERRORS as error:
            if isinstance(error, APIStatusError) and not _looks_temporary(error):
                raise
            course.sleep(PAUSE * 2**again)
    return course.send(arguments)


def _looks_temporary(error: APIStatusError) -> bool:
    status = error.response.status_code
    return status >= SERVER_ERROR or status in RETRIED
