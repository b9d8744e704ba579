"""What can go wrong with a model, by who has to act.

ModelError                     who runs it: a name, a key, a price or a cap is wrong
├─ EndpointError               whoever runs the endpoint; an episode ends in it
│  ├─ EndpointDownError        no answer came
│  ├─ EndpointRefusedError     the answer is an error of HTTP
│  └─ EndpointRubbishError     the answer is none of a model
└─ TranscriptError             who replays: the transcript is none, or of other episodes
"""

from retry_guard import GuardError


class ModelError(GuardError):
    """A model cannot be asked. The message says what to give instead."""


class EndpointError(ModelError):
    """A model gave no answer that can be used. The message says which and why, in one line."""


class EndpointDownError(EndpointError):
    """No answer came: nobody listens, the connection broke, or time ran out."""


class EndpointRefusedError(EndpointError):
    """The answer has the status of an error, such as 401 or 429."""


class EndpointRubbishError(EndpointError):
    """The answer is not what a model's endpoint gives, or was cut short."""


class TranscriptError(ModelError):
    """A transcript cannot be replayed. The message says which line and why."""


ENDPOINT_ERRORS: dict[str, type[EndpointError]] = {
    kind.__name__: kind for kind in (EndpointDownError, EndpointRefusedError, EndpointRubbishError)
}
"""By name, as transcripts and rows have them."""
