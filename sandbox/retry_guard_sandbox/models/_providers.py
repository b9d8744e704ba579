"""The names of models: a provider, which is an API, and what the endpoint calls the model."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from retry_guard_sandbox.models._chat import Chat
from retry_guard_sandbox.models._dialect import Dialect
from retry_guard_sandbox.models._errors import ModelError
from retry_guard_sandbox.models._messages import Messages
from retry_guard_sandbox.models._responses import Responses

PROVIDERS: Mapping[str, Dialect] = MappingProxyType(
    {"openai": Chat(), "openai-responses": Responses(), "anthropic": Messages()}
)


@dataclass(frozen=True, slots=True)
class ModelName:
    """`provider:name`. As a text it is the agent of its rows."""

    provider: str
    name: str

    def __str__(self) -> str:
        return f"{self.provider}:{self.name}"

    @property
    def dialect(self) -> Dialect:
        """How it is talked with."""
        return PROVIDERS[self.provider]


def model_name(text: str) -> ModelName:
    """Read a name; raises `ModelError` for one without a provider that is known."""
    provider, _, name = text.partition(":")
    if provider not in PROVIDERS or not name or not name.isprintable():
        known = ", ".join(f"{provider}:NAME" for provider in PROVIDERS)
        raise ModelError(f"{text} is no model: give {known}")
    return ModelName(provider, name)
