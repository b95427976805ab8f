"""An IAM policy as IAM reads it: may somebody who holds it do this to that?

One statement of which action, resource and every condition fit is enough
(https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_evaluation-logic.html). Only what the project's policy uses is
understood; anything else is an error, never a guess.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


class NotUnderstood(ValueError):
    """The policy says something that this evaluator has no rule for."""


@dataclass(frozen=True)
class Ask:
    """One question to IAM: an action (ec2:RunInstances) on a resource (an ARN, or * where the action has none).

    `context`: the condition keys that IAM knows of the request and the resource.
    """

    action: str
    resource: str = "*"
    context: Mapping[str, str] = field(default_factory=dict)

    def __hash__(self) -> int:
        return hash((self.action, self.resource, *sorted(self.context.items())))

    def __str__(self) -> str:
        known = ", ".join(f"{key}={value}" for key, value in self.context.items())
        return f"{self.action} on {self.resource}" + (f" ({known})" if known else "")


# whether what is wanted fits what IAM knows; None: it knows nothing
OPERATORS: Mapping[str, Callable[[Sequence[str], str | None], bool]] = {
    "StringEquals": lambda wanted, found: found in wanted,
    # takes wildcards, as ArnLike does
    "ArnEquals": lambda wanted, found: found is not None and any(_matches(pattern, found) for pattern in wanted),
    # {"Null": {key: "false"}}: the key must be there
    "Null": lambda wanted, found: wanted == [str(found is None).lower()],
}


@dataclass(frozen=True)
class Condition:
    """One line of a statement's Condition. A key that IAM doesn't have in a question fits only a Null that wants that."""

    operator: str
    key: str
    values: tuple[str, ...]

    def fits(self, context: Mapping[str, str]) -> bool:
        """Whether what IAM knows fulfils it."""
        return OPERATORS[self.operator](list(self.values), context.get(self.key))


@dataclass(frozen=True)
class Statement:
    """One Allow. Each of actions, resources and a condition's values is a choice; the conditions must hold together."""

    sid: str
    actions: tuple[str, ...]
    resources: tuple[str, ...]
    conditions: tuple[Condition, ...] = ()

    def allows(self, ask: Ask) -> bool:
        """Whether it answers yes. Actions are compared without case, resources with it."""
        return (
            any(_matches(pattern.lower(), ask.action.lower()) for pattern in self.actions)
            and any(_matches(pattern, ask.resource) for pattern in self.resources)
            and all(condition.fits(ask.context) for condition in self.conditions)
        )


@dataclass(frozen=True)
class Policy:
    """All statements. What none of them allows is denied."""

    statements: tuple[Statement, ...]

    def allowing(self, ask: Ask) -> tuple[str, ...]:
        """The statements that say yes, by Sid; none: denied."""
        return tuple(statement.sid for statement in self.statements if statement.allows(ask))


def read_policy(text: str) -> Policy:
    """A policy document. Raises NotUnderstood naming the statement and what is unknown in it."""
    document = json.loads(text)
    if document.get("Version") != "2012-10-17" or document.keys() - {"Version", "Statement"}:
        raise NotUnderstood(f"expected Version 2012-10-17 and Statement, found {', '.join(document)}")
    statements = tuple(_statement(number, each) for number, each in enumerate(document["Statement"], 1))
    sids = [each.sid for each in statements]
    if len(set(sids)) < len(sids):
        raise NotUnderstood(f"a Sid stands there twice: {', '.join(sids)}")
    return Policy(statements)


def _statement(number: int, document: Mapping[str, Any]) -> Statement:
    sid = document.get("Sid", f"statement {number}")
    unknown = document.keys() - {"Sid", "Effect", "Action", "Resource", "Condition"}
    if unknown or document["Effect"] != "Allow":
        raise NotUnderstood(f"{sid}: expected an Allow with Action, Resource and Condition, found {dict(document)}")
    resources = _listed(document["Resource"])
    if any("${" in resource for resource in resources):
        raise NotUnderstood(f"{sid}: policy variables in Resource")
    return Statement(
        sid, _listed(document["Action"]), resources, tuple(_conditions(sid, document.get("Condition", {})))
    )


def _conditions(sid: str, document: Mapping[str, Mapping[str, Any]]) -> Iterator[Condition]:
    for operator, keys in document.items():
        if operator not in OPERATORS:
            raise NotUnderstood(f"{sid}: operator {operator}; understood are {', '.join(OPERATORS)}")
        for key, values in keys.items():
            yield Condition(operator, key, _listed(values))


def _listed(one_or_more: str | list[str]) -> tuple[str, ...]:
    return (one_or_more,) if isinstance(one_or_more, str) else tuple(one_or_more)


def _matches(pattern: str, text: str) -> bool:
    """IAM's wildcards: * for any characters, / and : among them, ? for one."""
    return re.fullmatch(re.escape(pattern).replace(r"\*", ".*").replace(r"\?", "."), text) is not None
