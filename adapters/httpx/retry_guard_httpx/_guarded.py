"""Transports of httpx and httpx2 with a guard around them."""

import sys
from collections.abc import Iterable
from functools import cache
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING, Any, Self, overload

from retry_guard import AsyncGuard, Guard, GuardError, UsageError, current_turn
from retry_guard_httpx._arguments import arguments_of
from retry_guard_httpx._exchange import Exchange
