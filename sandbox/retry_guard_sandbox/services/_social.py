"""Social: no write accepts a key. The feed is rebuilt now and then; messages cannot be read."""

from collections.abc import Mapping
from typing import ClassVar

from retry_guard_sandbox.services._execution import Execution, Handler
from retry_guard_sandbox.services._field import Field
from retry_guard_sandbox.services._service import Service
from retry_guard_sandbox.services._tool import Look, Tool
from retry_guard_sandbox.world._clock import START
from retry_guard_sandbox.world._http import Json, Response

_FEED_LAG = 20.0
"""Seconds until a post is in the feed: more than a client waits, less than a search index."""

_ACCOUNT = Field(description="Name of the account that acts.")
_CREATE_POST = Tool(
    name="create_post",
    description="Publish a post on an account, on which others post too. list_posts shows it 20 "
    "seconds later.",
    fields={"account": _ACCOUNT, "text": Field(description="What it says.", alike="text")},
    look=Look(tool="list_posts", arguments={"account": "account"}),
    lag=_FEED_LAG,
)
_SEND_DM = Tool(
    name="send_dm",
    description="Send a direct message. Messages are encrypted; no tool can list or read them.",
    fields={
        "account": _ACCOUNT,
        "to": Field(description="The account that receives it, in any case.", alike="fold"),
        "text": Field(description="What it says.", alike="text"),
    },
)
_SET_BIO = Tool(
    name="set_bio",
    description="Set the text under an account's name. Repeating it changes nothing.",
    fields={"account": _ACCOUNT, "bio": Field(description="The whole text.", alike="text")},
    effect="idempotent",
)
_GET_PROFILE = Tool(
    name="get_profile",
    description="Read an account's profile: the text under its name, as it was set last.",
    fields={"account": _ACCOUNT},
    effect="read",
)
_LIST_POSTS = Tool(
    name="list_posts",
    description="List all posts of an account, the oldest first. The list is rebuilt: a post "
    "appears after 20 seconds. Posts cannot be deleted.",
    fields={"account": _ACCOUNT},
    effect="read",
)


class Social(Service):
    """Posts and direct messages. One account has posted before."""

    name: ClassVar[str] = "social"
    tools: ClassVar[tuple[Tool, ...]] = (
        _CREATE_POST,
        _SEND_DM,
        _SET_BIO,
        _GET_PROFILE,
        _LIST_POSTS,
    )
    earlier: ClassVar[Mapping[str, tuple[Json, ...]]] = {
        "create_post": (
            {
                "id": "post-501",
                "account": "acme",
                "text": "We are hiring. Ask @jo.",
                "created": START - 86_400.0,
            },
        )
    }

    def handlers(self) -> Mapping[str, Handler]:
        """Return what executes each tool."""
        return {
            "create_post": lambda e: self.make(e, "post-"),
            "send_dm": lambda e: self.make(e, "dm-"),
            "set_bio": lambda e: self.put(e, "account"),
            "get_profile": self._get_profile,
            "list_posts": lambda e: self.listing(e.now, "create_post", **e.request.arguments),
        }

    def _get_profile(self, execution: Execution) -> Response:
        account = execution.request.arguments["account"]
        state = self._store.state("set_bio", account)
        return Response(200, {"account": account, "bio": state.get("bio", "")})
