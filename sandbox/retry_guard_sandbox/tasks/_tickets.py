"""Tasks of the tickets service."""

from retry_guard_sandbox.tasks._task import Intended, Made, Ref, Step, Task

_LOGIN = {"project": "mobile", "title": "Login fails", "body": "Error 17 after the update."}
_EXPORT = {"project": "mobile", "title": "Export is empty", "body": "The CSV has no rows."}
_DOCS = {"project": "docs", "title": "Broken link", "body": "The link to the guide is broken."}

TASKS = (
    Task(
        name="open_ticket",
        service="tickets",
        prompt="Open a ticket in project mobile, 'Login fails': Error 17 after the update.",
        steps=(Step("create_ticket", _LOGIN),),
        intended=(
            Intended(
                tool="create_ticket",
                identity={"project": "mobile", "title": "Login fails"},
                content={"body": "Error 17 after the update."},
            ),
        ),
    ),
    Task(
        name="open_two_tickets",
        service="tickets",
        prompt="Open two tickets in project mobile: 'Login fails' (Error 17 after the update.) "
        "and 'Export is empty' (The CSV has no rows.).",
        steps=(Step("create_ticket", _LOGIN), Step("create_ticket", _EXPORT)),
        intended=(
            Intended(tool="create_ticket", identity=_LOGIN),
            Intended(tool="create_ticket", identity=_EXPORT),
        ),
    ),
    Task(
        name="comment",
        service="tickets",
        prompt="Comment on ticket TCK-101: Reproduced on staging.",
        steps=(Step("add_comment", {"ticket": "TCK-101", "text": "Reproduced on staging."}),),
        intended=(
            Intended(
                tool="add_comment",
                identity={"ticket": "TCK-101", "text": "Reproduced on staging."},
            ),
        ),
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
            Step("create_ticket", _DOCS),
            Step("add_comment", {"ticket": Ref(0), "text": "Seen on the front page."}),
        ),
        intended=(
            Intended(tool="create_ticket", identity=_DOCS),
            Intended(
                tool="add_comment",
                identity={"ticket": Made(0), "text": "Seen on the front page."},
            ),
        ),
    ),
)
