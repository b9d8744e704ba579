"""Endpoints of models, reached through the SDKs, which are imported only here and only then."""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from retry_guard_sandbox.models._errors import (
    EndpointDownError,
    EndpointRefusedError,
    EndpointRubbishError,
    ModelError,
)
from retry_guard_sandbox.world._http import Json

TIMEOUT = 120.0
"""Seconds for which an endpoint may be silent, if nothing else is said."""
RETRIES = 2
"""How often the SDK repeats a request to a model after an error, if nothing else is said."""
_LONGEST = 300


@dataclass(frozen=True, slots=True)
class _Sdk:
    """How an SDK is used. `create`: the method that asks a model, from a client."""

    load: Callable[[], Any]
    client: str
    key: str
    create: Callable[[Any], Callable[..., Any]]


def _openai() -> Any:  # noqa: ANN401 - a module
    import openai  # noqa: PLC0415 - slow to import, and mostly not needed

    return openai


def _anthropic() -> Any:  # noqa: ANN401 - a module
    import anthropic  # noqa: PLC0415 - (the same)

    return anthropic


_SDKS = {
    "openai": _Sdk(
        _openai,
        "OpenAI",
        "OPENAI_API_KEY",
        lambda client: client.chat.completions.with_raw_response.create,
    ),
    "openai-responses": _Sdk(
        _openai,
        "OpenAI",
        "OPENAI_API_KEY",
        lambda client: client.responses.with_raw_response.create,
    ),
    "anthropic": _Sdk(
        _anthropic,
        "Anthropic",
        "ANTHROPIC_API_KEY",
        lambda client: client.messages.with_raw_response.create,
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """How endpoints are reached. `base_url`: None: the SDK's own, or what its variable says.

    `timeout`: seconds. `retries`: how often a request to the model is repeated after an error:
    that repeats no tool call, and what it costs is not known. `http`: another client of HTTP.
    """

    base_url: str | None = None
    timeout: float = TIMEOUT
    retries: int = RETRIES
    http: Any = None


class Endpoint:
    """One endpoint. `repeated`: how many requests its SDK has sent again, as far as it tells."""

    def __init__(self, provider: str, access: Access) -> None:
        """Send nothing yet. Raises `ModelError` for a missing SDK, key, or an address of none."""
        sdk = _SDKS[provider]
        self._key = os.environ.get(sdk.key, "")
        if not self._key:
            raise ModelError(f"no {sdk.key}: set it; where the endpoint wants none, to any word")
        try:
            self._module = sdk.load()
        except ImportError as error:
            raise ModelError(
                f"no {error.name}: models need pip install agent-retry-guard[sandbox]"
            ) from error
        try:
            self._client = getattr(self._module, sdk.client)(
                api_key=self._key,
                base_url=access.base_url,
                timeout=access.timeout,
                max_retries=access.retries,
                http_client=access.http,
            )
        except Exception as error:  # noqa: BLE001 - whatever an SDK refuses is somebody's input
            raise ModelError(f"check --base-url and {sdk.key}: {self._line(str(error))}") from None
        self._create = sdk.create(self._client)
        self.repeated = 0

    def close(self) -> None:
        """Leave it."""
        self._client.close()

    def complete(self, body: Json) -> Json:
        """Send a request; return the answer.

        Raises `EndpointError`, and `ModelError` for a request that cannot be sent.
        """
        content = self._sent(body)
        try:
            answer: object = json.loads(content)
        except (ValueError, RecursionError):
            raise EndpointRubbishError("its answer is no JSON") from None
        if not isinstance(answer, dict):
            raise EndpointRubbishError("its answer is no object of JSON")
        return cast("Json", answer)

    def _sent(self, body: Json) -> bytes:
        try:
            raw = self._create(**body)
            self.repeated += raw.retries_taken
            content: bytes = raw.http_response.content
        except self._module.APIStatusError as error:
            text = self._line(_message(error.response.text))
            raise EndpointRefusedError(f"HTTP {error.status_code}: {text}") from None
        except self._module.APITimeoutError:
            raise EndpointDownError("no answer came in time") from None
        except self._module.APIConnectionError as error:
            raise EndpointDownError(
                self._line(f"{str(error).rstrip('.')}: {error.__cause__}")
            ) from None
        except self._module.APIError as error:
            raise EndpointRubbishError(self._line(str(error))) from None
        except (ValueError, TypeError) as error:
            raise ModelError(f"the request cannot be sent: {self._line(str(error))}") from None
        return content

    def _line(self, text: str) -> str:
        """Return a text as a part of one line, without the key."""
        return " ".join(text.replace(self._key, "***").split())[:_LONGEST]


def _message(text: str) -> str:
    """Return what an error says, in the shape of most endpoints, else the whole."""
    try:
        said = json.loads(text)
        return str(said["error"]["message"])
    except (ValueError, LookupError, TypeError, RecursionError):
        return text
