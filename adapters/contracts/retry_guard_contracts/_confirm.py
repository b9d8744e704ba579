"""The part of a contract that says how a write is confirmed by a token."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from retry_guard_contracts._fields import Name, Part, ResultPath
from retry_guard_contracts._paths import parse_path


def _one_value(text: str) -> str:
    if not all(isinstance(step, str | int) for step in parse_path(text)):
        raise ValueError(f"{text!r}: a token is one value, not one for each item")
    return text


def _argument(text: str) -> str:
    steps = parse_path(text)
    if not steps or not all(isinstance(step, str) for step in steps):
        raise ValueError(f"{text!r} names no argument: write it like confirm_token")
    return text


TokenPath = Annotated[ResultPath, AfterValidator(_one_value)]
TokenParam = Annotated[str, Field(strict=True), AfterValidator(_argument)]


class Confirm(Part):
    """How a write is confirmed: a preview, which changes nothing, gives a token for it.

    `preview`: the tool that previews, with the arguments of the write; none: the tool itself, when
    it is called without the token. `token`: where the token is in the preview's result. `param`:
    the argument that carries it. `expires`: for how many seconds the token is handed out again,
    from the request of the preview; none: until it was sent. `outside`: whether a token that no
    preview gave through the guard is refused (its arguments are not known), or goes out.
    """

    preview: Name | None = None
    token: TokenPath
    param: TokenParam
    expires: Annotated[float, Field(strict=True, gt=0, allow_inf_nan=False)] | None = None
    outside: Literal["refused", "accepted"] = "refused"

    @model_validator(mode="after")
    def _is_an_argument(self) -> "Confirm":
        if self.param.startswith(("header:", "meta:")):
            raise ValueError(f"param: {self.param} is no argument; name the one with the token")
        return self
