"""How this cloud changes moto: functions that are marked with the class whose method they replace, or add."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from moto.ec2.utils import EC2_PREFIX_TO_RESOURCE, EC2_RESOURCE_TO_PREFIX

PATCHES_VARIABLE = "SAMEBOX_CLOUD_PATCHES"  # in the environment: more modules of such functions, which tests have


def instead_of(owner: type) -> Callable[[Any], Any]:
    """Marks a function that replaces the method or property of its name, which it gets as its first argument."""
    return lambda function: _marked(function, owner, replaces=True)


def added_to(owner: type) -> Callable[[Any], Any]:
    """Marks a function that is a method which moto lacks."""
    return lambda function: _marked(function, owner, replaces=False)


def install(*modules: ModuleType) -> None:
    """Changes moto as the modules' functions say, and lets EC2 tag the types in their EC2_TYPES (type -> how its ids begin)."""
    for module in modules:
        for name, function in list(vars(module).items()):
            if hasattr(function, "method_of"):
                _put(function.method_of, name, function)
        for resource, prefix in getattr(module, "EC2_TYPES", {}).items():
            EC2_RESOURCE_TO_PREFIX[resource], EC2_PREFIX_TO_RESOURCE[prefix] = prefix, resource


def _marked(function: Any, owner: type, *, replaces: bool) -> Any:
    function.method_of, function.replaces_it = owner, replaces
    return function


def _put(owner: type, name: str, function: Any) -> None:
    if not function.replaces_it:
        setattr(owner, name, function)
        return
    moto = owner.__dict__.get(name) or getattr(owner, name)
    of_property = isinstance(moto, property)
    original = moto.fget if of_property else moto

    def replacement(self: Any, *given: Any, **named: Any) -> Any:
        return function(original, self, *given, **named)

    setattr(owner, name, property(replacement) if of_property else replacement)
