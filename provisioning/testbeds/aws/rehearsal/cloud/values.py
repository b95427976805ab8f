"""Property values as the engine sends them: protobuf structs to plain Python and back, with secrets opened and unknowns marked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from google.protobuf import json_format, struct_pb2
from pulumi.runtime import rpc

Properties = dict[str, Any]


class Unknown:
    """A value that isn't known before the update, as an id of what doesn't exist yet."""

    def __repr__(self) -> str:
        return "<known after the update>"


UNKNOWN: Final = Unknown()


def opened(struct: struct_pb2.Struct) -> Properties:
    """A struct's properties: secrets as what they hold, unknowns as UNKNOWN, the engine's own keys left out."""
    return {key: _opened(value) for key, value in json_format.MessageToDict(struct).items() if not key.startswith("__")}


def closed(properties: Mapping[str, Any]) -> struct_pb2.Struct:
    """The struct of these properties, unknowns included."""
    struct = struct_pb2.Struct()
    json_format.ParseDict({key: _closed(value) for key, value in properties.items()}, struct)
    return struct


def _opened(value: Any) -> Any:
    if value == rpc.UNKNOWN:
        return UNKNOWN
    if isinstance(value, dict):
        if value.get(rpc._special_sig_key) == rpc._special_secret_sig:
            return _opened(value["value"])
        return {key: _opened(each) for key, each in value.items() if not key.startswith("__")}
    if isinstance(value, list):
        return [_opened(each) for each in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)  # a struct has no integers
    return value


def _closed(value: Any) -> Any:
    if isinstance(value, Unknown):
        return rpc.UNKNOWN
    if isinstance(value, Mapping):
        return {key: _closed(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_closed(each) for each in value]
    return value
