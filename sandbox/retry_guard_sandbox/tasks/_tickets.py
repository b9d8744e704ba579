"""Tasks of the tickets service."""

from retry_guard_sandbox.tasks._intended import Intended, Made, intended
from retry_guard_sandbox.tasks._step import Ref, Step
from retry_guard_sandbox.tasks._task import Task

_LOGIN = {"project": "mobile", "title": "Login fails", "body": "Error 17 after the update."}
_EXPORT = {"project": "mobile", "title": "Export is empty", "body": "The CSV has no rows."}
_DOCS = {"project": "docs", "title": "Broken link", "body": "The link to the guide is broken."}
_STAGING = {"ticket": "TCK-101", "text": "Reproduced on staging."}
_CLOSED = {"ticket": "TCK-101", "status": "closed"}

_OPEN_LOGIN = Step(
    "create_ticket",
    _LOGIN,
    reworded={"title": "login fails", "body": "error 17 after the update."},
    twin={"title": "Login fails on tablets"},
)
_OPEN_EXPORT = Step(
    "create_ticket",
    _EXPORT,
    reworded={"title": " Export is empty"},
    twin={"title": "Export is empty again"},
)
_OPEN_DOCS = Step(
    "create_ticket", _DOCS, reworded={"title": "Broken Link"}, twin={"title": "Broken links"}
)
_SAY_STAGING = Step(
    "add_comment",
    _STAGING,
    reworded={"text": "Reproduced  on staging."},
    twin={"text": "Not reproduced on staging."},
)

TASKS = (
    Task(
        name="open_ticket",
        service="tickets",
        prompt="Open a ticket in project mobile, 'Login fails': Error 17 after the update.",
        steps=(_OPEN_LOGIN,),
        intended=intended("create_ticket", _LOGIN, "body"),
    ),
    Task(
        name="open_two_tickets",
        service="tickets",
        prompt="Open two tickets in project mobile: 'Login fails' (Error 17 after the update.) "
        "and 'Export is empty' (The CSV has no rows.).",
        steps=(_OPEN_LOGIN, _OPEN_EXPORT),
        intended=(
            *intended("create_ticket", _LOGIN, "body"),
            *intended("create_ticket", _EXPORT, "body"),
        ),
    ),
    Task(
        name="comment",
        service="tickets",
        prompt="Comment on ticket TCK-101: Reproduced on staging.",
        steps=(_SAY_STAGING,),
        intended=intended("add_comment", _STAGING),
    ),
    Task(
        name="find_and_comment",
        service="tickets",
        prompt="Comment on the second ticket of project website: Fixed, goes out tonight.",
        steps=(
            Step("search_tickets", {"project": "website"}),
            Step(
                "add_comment",
                {"ticket": Ref(0, ("data", 1, "id")), "text": "Fixed, goes out tonight."},
                reworded={"text": "Fixed, goes out tonight.\n"},
                twin={"text": "Fixed, goes out tomorrow night."},
            ),
        ),
        intended=(
            Intended(
                tool="add_comment",
                identity={"ticket": "TCK-102", "text": "Fixed, goes out tonight."},
            ),
        ),
    ),
    Task(
        name="open_and_comment",
        service="tickets",
        prompt="Open a ticket in project docs, 'Broken link' (The link to the guide is broken.), "
        "then comment on it: Seen on the front page.",
        steps=(
            _OPEN_DOCS,
            Step(
                "add_comment",
                {"ticket": Ref(0), "text": "Seen on the front page."},
                reworded={"text": "Seen on the  front page."},
                twin={"text": "Not seen on the front page."},
            ),
        ),
        intended=(
            *intended("create_ticket", _DOCS, "body"),
            Intended(
                tool="add_comment",
                identity={"ticket": Made(0), "text": "Seen on the front page."},
            ),
        ),
    ),
    Task(
        name="comment_and_close",
        service="tickets",
        prompt="Comment on ticket TCK-101 'Reproduced on staging.', then close the ticket.",
        steps=(_SAY_STAGING, Step("set_status", _CLOSED)),
        intended=(*intended("add_comment", _STAGING), *intended("set_status", _CLOSED)),
    ),
)
