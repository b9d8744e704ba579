"""The services of the sandbox, by name. Each is one module: its tools and what they do."""

from collections.abc import Mapping
from types import MappingProxyType

from retry_guard_sandbox.services._alike import Alike, normal
from retry_guard_sandbox.services._billing import Billing
from retry_guard_sandbox.services._database import Database
from retry_guard_sandbox.services._deploy import Deploy
from retry_guard_sandbox.services._execution import OTHERS, Delivery
from retry_guard_sandbox.services._facts import HONEST, RETENTION, Facts
from retry_guard_sandbox.services._field import Field
from retry_guard_sandbox.services._mail import Mail
from retry_guard_sandbox.services._service import Service
from retry_guard_sandbox.services._social import Social
from retry_guard_sandbox.services._tickets import SEARCH_LAG, Tickets
from retry_guard_sandbox.services._tool import KEY, Batch, Look, Tool

SERVICES: Mapping[str, type[Service]] = MappingProxyType(
    {service.name: service for service in (Social, Billing, Tickets, Mail, Database, Deploy)}
)

TOOLS: Mapping[str, Tool] = MappingProxyType(
    {tool.name: tool for service in SERVICES.values() for tool in service.tools}
)

__all__ = [
    "HONEST",
    "KEY",
    "OTHERS",
    "RETENTION",
    "SEARCH_LAG",
    "SERVICES",
    "TOOLS",
    "Alike",
    "Batch",
    "Delivery",
    "Facts",
    "Field",
    "Look",
    "Service",
    "Tool",
    "normal",
]
