"""What is known of each tool: the contract schema, its sources, identity and evidence."""

from retry_guard_contracts._arguments import parse_arguments, parse_json
from retry_guard_contracts._batches import (
    effects_named,
    items_in,
    joined,
    rest_identity,
    with_items,
)
from retry_guard_contracts._canonical import canonical
from retry_guard_contracts._confirm import Confirm
from retry_guard_contracts._decoding import decode
from retry_guard_contracts._encoding import encode, encode_arguments, encode_result
from retry_guard_contracts._errors import ArgumentError, ContractError
from retry_guard_contracts._evidence import effect_of, judge, read_arguments
from retry_guard_contracts._fields import Fixed
from retry_guard_contracts._identity import SCHEME, Identity, differing, identify
from retry_guard_contracts._key import caller_key, key_ignored, make_key, place_key
from retry_guard_contracts._parts import Batch, Key, ReadBack
from retry_guard_contracts._schema import Contract
from retry_guard_contracts._secrets import holds_sealed, opened, seal, unseal
from retry_guard_contracts._sight import Sight
from retry_guard_contracts._signs import Sign
from retry_guard_contracts._tokens import (
    as_previewed,
    preview_identity,
    previewed,
    recorded_mark,
    token_in,
    token_mark,
    token_of,
    with_token,
)
from retry_guard_contracts._types import types_in
from retry_guard_contracts._veil import unveil, veil
from retry_guard_contracts._yaml import load_contracts, parse_contracts

__all__ = [
    "SCHEME",
    "ArgumentError",
    "Batch",
    "Confirm",
    "Contract",
    "ContractError",
    "Fixed",
    "Identity",
    "Key",
    "ReadBack",
    "Sight",
    "Sign",
    "as_previewed",
    "caller_key",
    "canonical",
    "decode",
    "differing",
    "effect_of",
    "effects_named",
    "encode",
    "encode_arguments",
    "encode_result",
    "holds_sealed",
    "identify",
    "items_in",
    "joined",
    "judge",
    "key_ignored",
    "load_contracts",
    "make_key",
    "opened",
    "parse_arguments",
    "parse_contracts",
    "parse_json",
    "place_key",
    "preview_identity",
    "previewed",
    "read_arguments",
    "recorded_mark",
    "rest_identity",
    "seal",
    "token_in",
    "token_mark",
    "token_of",
    "types_in",
    "unseal",
    "unveil",
    "veil",
    "with_items",
    "with_token",
]
