"""The services of the sandbox, by name. Each is one module: its tools and what they do."""

from collections.abc import Mapping
from types import MappingProxyType

from retry_guard_sandbox.services._billing import Billing
from retry_guard_sandbox.services._service import Delivery, Service
from retry_guard_sandbox.services._tickets import SEARCH_LAG, Tickets
from retry_guard_sandbox.services._tool import KEY, Field, Look, Tool

SERVICES: Mapping[str, type[Service]] = MappingProxyType(
    {service.name: service for service in (Billing, Tickets)}
)

TOOLS: Mapping[str, Tool] = MappingProxyType(
    {tool.name: tool for service in SERVICES.values() for tool in service.tools}
)

__all__ = [
    "KEY",
    "SEARCH_LAG",
    "SERVICES",
    "TOOLS",
    "Delivery",
    "Field",
    "Look",
    "Service",
    "Tool",
]
