"""What the installed pulumi_aws says a resource or a lookup may be given: names, types and enumerations.

The SDK is generated from the real provider's schema, so what it doesn't know, the provider doesn't know.
"""

from __future__ import annotations

import difflib
import enum
import importlib
import inspect
import re
import typing
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any

import pulumi
import pulumi_aws
from botocore import xform_name
from pulumi._types import input_type_py_to_pulumi_names, input_type_types, is_input_type

from provisioning.testbeds.aws.rehearsal.cloud.values import Properties, Unknown


@dataclass(frozen=True)
class Failure:
    """One thing wrong with a request: the property's path (rootBlockDevice.volumeType) and why."""

    path: str
    reason: str


class UnknownToken(Exception):
    """The SDK has no such resource or function."""


def resource_failures(token: str, properties: Properties) -> list[Failure]:
    """Everything in which `properties` differ from what the resource type takes."""
    try:
        return list(_object_failures(arguments_class(token), properties, ""))
    except UnknownToken as error:
        return [Failure("", str(error))]


def provider_failures(properties: Properties) -> list[Failure]:
    """Unknown keys in the configuration of the provider itself."""
    known = input_type_types(pulumi_aws.ProviderArgs)
    return [_unknown(key, known) for key in sorted(set(properties) - set(known) - {"version"})]


def lookup_failures(token: str, arguments: Properties) -> list[Failure]:
    """The same for a lookup's arguments (aws:ec2/getAmi:getAmi)."""
    try:
        module, name = _module_and_name(token)
    except UnknownToken as error:
        return [Failure("", str(error))]
    function = getattr(module, xform_name(name), None)
    if function is None:
        return [Failure("", f"pulumi_aws has no function for {token}")]
    hints = {
        _camel(parameter.name): parameter.annotation
        for parameter in inspect.signature(function).parameters.values()
        if parameter.name != "opts"
    }
    failures = [_unknown(key, hints) for key in sorted(set(arguments) - set(hints))]
    for key in sorted(set(arguments) & set(hints)):
        failures += _value_failures(_resolved(hints[key], module), arguments[key], key)
    return failures


@cache
def arguments_class(token: str) -> type:
    """The SDK's class of a resource type's inputs: InstanceArgs for aws:ec2/instance:Instance. Raises UnknownToken."""
    module, name = _module_and_name(token)
    # the SDK calls it ...InitArgs where the other name is taken by a nested object
    found = getattr(module, f"{name}InitArgs", None) or getattr(module, f"{name}Args", None)
    if found is None or token.split(":")[1].split("/")[-1] != name[0].lower() + name[1:]:
        raise UnknownToken(f"pulumi_aws has no resource type {token}")
    return typing.cast(type, found)


def _module_and_name(token: str) -> tuple[Any, str]:
    match = re.fullmatch(r"aws:(\w+)/\w+:(\w+)", token)
    if not match:
        raise UnknownToken(f"{token} is no token of the aws provider")
    package, name = match.groups()
    try:
        module = importlib.import_module("pulumi_aws" if package == "index" else f"pulumi_aws.{package}")
    except ModuleNotFoundError:
        raise UnknownToken(f"pulumi_aws has no module {package} (in {token})") from None
    return module, name


def _object_failures(expected: type, properties: Properties, prefix: str) -> Iterator[Failure]:
    types = input_type_types(expected)
    for key in sorted(set(properties) - set(types)):
        yield _unknown(f"{prefix}{key}", types)
    for key in sorted(_required(expected) - {key for key, value in properties.items() if value is not None}):
        yield Failure(f"{prefix}{key}", "is required and missing")
    for key in sorted(set(properties) & set(types)):
        yield from _value_failures(types[key], properties[key], f"{prefix}{key}")


def _value_failures(expected: Any, value: Any, path: str) -> Iterator[Failure]:
    if value is None or isinstance(value, Unknown):
        return
    plain = _plain_types(expected)
    found = next((each for each in plain if _has_shape(each, value)), None)
    if found is None:
        names = " or ".join(sorted({_name(each) for each in plain}))
        yield Failure(path, f"must be {names}, not {value!r}")
        return
    origin, arguments = typing.get_origin(found), typing.get_args(found)
    if is_input_type(found):
        yield from _object_failures(found, value, f"{path}.")
    elif origin is not None and issubclass(origin, Mapping):
        for key, each in value.items():
            yield from _value_failures(arguments[1], each, f"{path}.{key}")
    elif origin is not None and issubclass(origin, Sequence):
        for position, each in enumerate(value):
            yield from _value_failures(arguments[0], each, f"{path}[{position}]")
    enumerations = [each for each in plain if isinstance(each, type) and issubclass(each, enum.Enum)]
    choices = [member.value for each in enumerations for member in each]
    if choices and value not in choices:
        yield Failure(path, f"{value!r} doesn't exist{_nearest(value, choices)}")


def _has_shape(expected: Any, value: Any) -> bool:
    origin = typing.get_origin(expected) or expected
    if expected is Any or not isinstance(origin, type):
        return True
    if origin is bool or isinstance(value, bool):
        return origin is bool and isinstance(value, bool)
    if origin is float:
        return isinstance(value, int | float)
    if issubclass(origin, str | int):
        return isinstance(value, str if issubclass(origin, str) else int)
    if is_input_type(origin) or issubclass(origin, Mapping):
        return isinstance(value, dict)
    if issubclass(origin, Sequence):
        return isinstance(value, list)
    return False


def _plain_types(expected: Any) -> list[Any]:
    """The types of a union without what Pulumi wraps around them and without the dictionary twins of input classes."""
    origin = typing.get_origin(expected)
    if origin in (typing.Union, UnionType):
        return [plain for each in typing.get_args(expected) for plain in _plain_types(each)]
    if expected is NoneType or origin in (Awaitable, pulumi.Output) or typing.is_typeddict(expected):
        return []
    return [expected]


def _required(expected: type) -> set[str]:
    names = input_type_py_to_pulumi_names(expected)
    parameters = list(inspect.signature(expected).parameters.values())
    return {names[each.name] for each in parameters if each.default is inspect.Parameter.empty}


def _resolved(annotation: Any, module: Any) -> Any:
    """A function's annotation with its forward references looked up where the SDK's generated code has them."""
    if isinstance(annotation, typing.ForwardRef):
        annotation = annotation.__forward_arg__
    if isinstance(annotation, str):
        return getattr(module, annotation.split(".")[-1], NoneType)
    arguments = typing.get_args(annotation)
    if not arguments:
        return annotation
    return annotation.copy_with(tuple(_resolved(each, module) for each in arguments))


def _unknown(path: str, known: Mapping[str, Any]) -> Failure:
    return Failure(path, f"isn't a known property{_nearest(path.rpartition('.')[2], list(known))}")


def _nearest(word: Any, choices: list[str]) -> str:
    near = difflib.get_close_matches(str(word), choices, n=3)
    return f"; did you mean {' or '.join(near)}?" if near else ""


def _name(expected: Any) -> str:
    return "an object" if is_input_type(expected) else str(getattr(expected, "__name__", expected))


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)
