"""Tickets: no write accepts a key. The search lags behind; the list of comments does not."""

from collections.abc import Mapping
from typing import ClassVar

from retry_guard_sandbox.services._service import Execution, Handler, Service, listing
from retry_guard_sandbox.services._tool import Field, Look, Tool
from retry_guard_sandbox.world._clock import START
from retry_guard_sandbox.world._effects import Effects
from retry_guard_sandbox.world._http import Json, Response, refusal
from retry_guard_sandbox.world._streams import Streams

SEARCH_LAG = 30.0
"""Seconds until a new ticket can be found. Longer than a client waits for an answer, so a look
right after a time-out cannot see even what happened at once."""

_CREATE_TICKET = Tool(
    name="create_ticket",
    description="Open a ticket. search_tickets finds it 30 seconds later.",
    fields={
        "project": Field(description="Name of the project."),
        "title": Field(description="One line."),
        "body": Field(description="What happened."),
    },
    look=Look(tool="search_tickets", arguments={"project": "project"}),
)
_ADD_COMMENT = Tool(
    name="add_comment",
    description="Add a comment to a ticket. list_comments shows it at once.",
    fields={
        "ticket": Field(description="Id of the ticket."),
        "text": Field(description="The comment."),
    },
    look=Look(tool="list_comments", arguments={"ticket": "ticket"}),
)
_SEARCH_TICKETS = Tool(
    name="search_tickets",
    description="List all tickets of a project. New ones appear after 30 seconds.",
    fields={"project": Field(description="Name of the project.")},
    effect="read",
)
_LIST_COMMENTS = Tool(
    name="list_comments",
    description="List all comments on a ticket, the oldest first.",
    fields={"ticket": Field(description="Id of the ticket.")},
    effect="read",
)


class Tickets(Service):
    """Tickets and comments on them."""

    name: ClassVar[str] = "tickets"
    tools: ClassVar[tuple[Tool, ...]] = (
        _CREATE_TICKET,
        _ADD_COMMENT,
        _SEARCH_TICKETS,
        _LIST_COMMENTS,
    )

    def __init__(self, effects: Effects, streams: Streams) -> None:
        """Two tickets have been open for a week."""
        super().__init__(effects, streams)
        self._tickets = [
            _earlier("TCK-101", "website", "Search page is slow", "It takes 8 s to load."),
            _earlier("TCK-102", "website", "Wrong price on the plan page", "It says 90 eur."),
        ]
        self._comments: list[Json] = []

    def handlers(self) -> Mapping[str, Handler]:
        """Return what executes each tool."""
        return {
            "create_ticket": self._create_ticket,
            "add_comment": self._add_comment,
            "search_tickets": self._search_tickets,
            "list_comments": self._list_comments,
        }

    def _create_ticket(self, execution: Execution) -> Response:
        item = self.commit(execution, "TCK-", status="open")
        self._tickets.append(item)
        return Response(201, item)

    def _add_comment(self, execution: Execution) -> Response:
        ticket = execution.request.arguments["ticket"]
        if all(known["id"] != ticket for known in self._tickets):
            return refusal(404, "not_found", "there is no such ticket", param="ticket")
        item = self.commit(execution, "cmt-")
        self._comments.append(item)
        return Response(201, item)

    def _search_tickets(self, execution: Execution) -> Response:
        project, seen = execution.request.arguments["project"], execution.now - SEARCH_LAG
        return listing(
            [t for t in self._tickets if t["project"] == project and t["created"] <= seen]
        )

    def _list_comments(self, execution: Execution) -> Response:
        ticket = execution.request.arguments["ticket"]
        return listing([c for c in self._comments if c["ticket"] == ticket])


def _earlier(name: str, project: str, title: str, body: str) -> Json:
    """A ticket that was opened a week before the episode."""
    return {
        "id": name,
        "project": project,
        "title": title,
        "body": body,
        "status": "open",
        "created": START - 7 * 86_400.0,
    }
