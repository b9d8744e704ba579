"""Deploy: no write accepts a key, but a request that waits too long in the queue is dropped."""

from collections.abc import Mapping
from typing import ClassVar

from retry_guard_sandbox.services._execution import Execution, Handler
from retry_guard_sandbox.services._field import Field
from retry_guard_sandbox.services._service import Service
from retry_guard_sandbox.services._tool import Look, Tool
from retry_guard_sandbox.world._clock import START
from retry_guard_sandbox.world._http import Json, Response

_QUEUE_LIMIT = 15.0
"""Seconds after which the queue drops a request: the only stated in-flight bound. With the lag,
two time-outs of a client (10 s each) can be settled within the minute that a guarded call has."""
_LIST_LAG = 3.0

_SERVICE = Field(description="Name of the service, in any case.", alike="fold")
_VERSION = Field(description="The version, such as 2.4.1.")
_TRIGGER_DEPLOY = Tool(
    name="trigger_deploy",
    description="Deploy a version of a service. A request that has not begun 15 seconds after it "
    "was sent is dropped and never runs. list_deploys shows a deploy 3 seconds after it began.",
    fields={
        "service": _SERVICE,
        "version": _VERSION,
        "note": Field(description="Why; shown in the log.", alike="fold"),
    },
    look=Look(tool="list_deploys", arguments={"version": "version"}),
    lag=_LIST_LAG,
    bound=_QUEUE_LIMIT,
)
_SET_FLAG = Tool(
    name="set_flag",
    description="Switch a feature of a service on or off. Repeating it changes nothing.",
    fields={
        "service": Field(description="Name of the service."),
        "flag": Field(description="Name of the feature."),
        "state": Field(description="on or off.", alike="fold"),
    },
    effect="idempotent",
)
_GET_SERVICE = Tool(
    name="get_service",
    description="Read a service: the version that its team has tested last.",
    fields={"service": Field(description="Name of the service.")},
    effect="read",
)
_GET_FLAG = Tool(
    name="get_flag",
    description="Read a feature of a service: on or off, as it was set last.",
    fields={
        "service": Field(description="Name of the service."),
        "flag": Field(description="Name of the feature."),
    },
    effect="read",
)
_LIST_DEPLOYS = Tool(
    name="list_deploys",
    description="List all deploys of a version, of whichever service, the oldest first. A deploy "
    "appears after 3 seconds; none is ever removed.",
    fields={"version": _VERSION},
    effect="read",
)
_TESTED: Mapping[str, str] = {"shop": "2.4.1", "search": "1.9.0", "mailer": "0.7.3"}


class Deploy(Service):
    """Deploys of three services. One was deployed yesterday."""

    name: ClassVar[str] = "deploy"
    tools: ClassVar[tuple[Tool, ...]] = (
        _TRIGGER_DEPLOY,
        _SET_FLAG,
        _GET_SERVICE,
        _GET_FLAG,
        _LIST_DEPLOYS,
    )
    earlier: ClassVar[Mapping[str, tuple[Json, ...]]] = {
        "trigger_deploy": (
            {
                "id": "dep-901",
                "service": "shop",
                "version": "2.4.0",
                "note": "Weekly release",
                "created": START - 86_400.0,
            },
        )
    }

    def handlers(self) -> Mapping[str, Handler]:
        """Return what executes each tool."""
        return {
            "trigger_deploy": lambda e: self.make(e, "dep-"),
            "set_flag": lambda e: self.put(e, "service", "flag"),
            "get_service": self._get_service,
            "get_flag": self._get_flag,
            "list_deploys": lambda e: self.listing(e.now, "trigger_deploy", **e.request.arguments),
        }

    def _get_service(self, execution: Execution) -> Response:
        service = execution.request.arguments["service"]
        return Response(200, {"service": service, "tested": _TESTED.get(service)})

    def _get_flag(self, execution: Execution) -> Response:
        given = execution.request.arguments
        state = self._store.state("set_flag", given["service"], given["flag"])
        return Response(200, {**given, "state": state.get("state", "off")})
