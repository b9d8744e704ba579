"""Real models as agents, through the SDKs of OpenAI and Anthropic, at any address.

Seeds decide the faults; what a model does is a sample. A transcript replays it byte for byte.
"""

from retry_guard_sandbox.models._endpoint import RETRIES, TIMEOUT, Access
from retry_guard_sandbox.models._errors import EndpointError, ModelError, TranscriptError
from retry_guard_sandbox.models._play import Cast
from retry_guard_sandbox.models._providers import PROVIDERS, model_name
from retry_guard_sandbox.models._purse import Price, Purse, prices_of
from retry_guard_sandbox.models._run import Run
from retry_guard_sandbox.models._transcript import Transcript, opening_line, read_transcript

__all__ = [
    "PROVIDERS",
    "RETRIES",
    "TIMEOUT",
    "Access",
    "Cast",
    "EndpointError",
    "ModelError",
    "Price",
    "Purse",
    "Run",
    "Transcript",
    "TranscriptError",
    "model_name",
    "opening_line",
    "prices_of",
    "read_transcript",
]
