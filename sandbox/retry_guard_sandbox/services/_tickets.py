"""Tickets: no write accepts a key. The search lags behind; the list of comments does not."""

from collections.abc import Mapping
from typing import ClassVar

from retry_guard_sandbox.services._execution import Execution, Handler
from retry_guard_sandbox.services._field import Field
from retry_guard_sandbox.services._service import Service
from retry_guard_sandbox.services._tool import Look, Tool
from retry_guard_sandbox.world._clock import START
from retry_guard_sandbox.world._http import Json, Response, refusal

SEARCH_LAG = 30.0
"""Seconds until a new ticket can be found. Longer than a client waits for an answer, so a look
right after a time-out cannot see even what happened at once."""

_PROJECT = Field(description="Name of the project.")
_TICKET = Field(description="Id of the ticket.")
_CREATE_TICKET = Tool(
    name="create_ticket",
    description="Open a ticket. search_tickets finds it 30 seconds later.",
    fields={
        "project": _PROJECT,
        "title": Field(description="One line; names the ticket within its project.", alike="fold"),
        "body": Field(description="What happened.", alike="fold"),
    },
    look=Look(tool="search_tickets", arguments={"project": "project"}),
    lag=SEARCH_LAG,
)
_ADD_COMMENT = Tool(
    name="add_comment",
    description="Add a comment to a ticket. list_comments shows it at once.",
    fields={"ticket": _TICKET, "text": Field(description="The comment.", alike="text")},
    look=Look(tool="list_comments", arguments={"ticket": "ticket"}),
)
_SET_STATUS = Tool(
    name="set_status",
    description="Set the status of a ticket. Repeating it changes nothing.",
    fields={
        "ticket": _TICKET,
        "status": Field(description="open, waiting or closed.", alike="fold"),
    },
    effect="idempotent",
)
_GET_TICKET = Tool(
    name="get_ticket",
    description="Read one ticket with its status. A new one is there at once.",
    fields={"ticket": _TICKET},
    effect="read",
)
_SEARCH_TICKETS = Tool(
    name="search_tickets",
    description="List all tickets of a project, whatever their status, the oldest first. New ones "
    "appear after 30 seconds; none is ever removed.",
    fields={"project": _PROJECT},
    effect="read",
)
_LIST_COMMENTS = Tool(
    name="list_comments",
    description="List all comments on a ticket, the oldest first. Nothing is ever removed.",
    fields={"ticket": _TICKET},
    effect="read",
)


def _earlier(name: str, project: str, title: str, body: str) -> Json:
    """A ticket that was opened a week before the episode."""
    created = START - 7 * 86_400.0
    return {"id": name, "project": project, "title": title, "body": body, "created": created}


class Tickets(Service):
    """Tickets and comments on them. Two tickets have been open for a week."""

    name: ClassVar[str] = "tickets"
    tools: ClassVar[tuple[Tool, ...]] = (
        _CREATE_TICKET,
        _ADD_COMMENT,
        _SET_STATUS,
        _GET_TICKET,
        _SEARCH_TICKETS,
        _LIST_COMMENTS,
    )
    earlier: ClassVar[Mapping[str, tuple[Json, ...]]] = {
        "create_ticket": (
            _earlier("TCK-101", "website", "Search page is slow", "It takes 8 s to load."),
            _earlier("TCK-102", "website", "Wrong price on the plan page", "It says 90 eur."),
        )
    }

    def handlers(self) -> Mapping[str, Handler]:
        """Return what executes each tool."""
        return {
            "create_ticket": lambda e: self.make(e, "TCK-"),
            "add_comment": lambda e: self._missing(e) or self.make(e, "cmt-"),
            "set_status": lambda e: self._missing(e) or self.put(e, "ticket"),
            "get_ticket": lambda e: self._missing(e) or self._get_ticket(e),
            "search_tickets": lambda e: self.listing(e.now, "create_ticket", **e.request.arguments),
            "list_comments": lambda e: self.listing(e.now, "add_comment", **e.request.arguments),
        }

    def _missing(self, execution: Execution) -> Response | None:
        """Refuse what is about a ticket that does not exist."""
        if self._store.known("create_ticket", execution.request.arguments["ticket"]):
            return None
        return refusal(404, "not_found", "there is no such ticket", param="ticket")

    def _get_ticket(self, execution: Execution) -> Response:
        ticket = execution.request.arguments["ticket"]
        item = self._store.known("create_ticket", ticket) or {}
        state = self._store.state("set_status", ticket)
        return Response(200, {**item, "status": state.get("status", "open")})
