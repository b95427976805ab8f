"""What IAM asks about for an action: resource types, with the condition keys of each; from AWS's service authorization reference.

tests/infra/permissions/extract.py writes the extract anew.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from provisioning.testbeds.aws.rehearsal.iam.policy import Ask

ACCOUNT, REGION = "123456789012", "us-west-2"  # of the rehearsal's cloud
IAM_REGION = "us-east-1"  # where IAM's requests go, whatever the region
EXTRACT = Path(__file__).with_name("service_authorization.json")
GLOBAL_KEYS = frozenset({"aws:RequestedRegion"})  # in the context of every request
WITHOUT_TYPE = ""  # keys that an action has whatever the resource
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
            raise KeyError(
                f"{name} isn't in {EXTRACT.name}: misspelt? If not, extract it again (tests/infra/permissions/README.md)"
            )
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
        return replace(ask, context={key: value for key, value in ask.context.items() if generic(key) in keys})


def generic(key: str) -> str:
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


def arn(kind: str, *names: str) -> str:
    """The ARN of a thing of the cloud's: ec2:vpc and its id, s3:object and its bucket and key."""
    of_cloud, left = {"Region": REGION, "Account": ACCOUNT}, iter(names)
    return re.sub(r"\$\{(\w+)\}", lambda variable: of_cloud.get(variable[1]) or next(left), reference().arns[kind])


def as_iam_has_it(ask: Ask, region: str) -> Ask:
    """The question in a request to a region: with what IAM knows of every request, without what it doesn't know of this action.

    An action that the reference lacks is asked about as it is.
    """
    asked_in = IAM_REGION if ask.action.startswith("iam:") else region
    known = replace(ask, context={"aws:RequestedRegion": asked_in, **ask.context})
    return reference().as_iam_has_it(known) if ask.action in reference().actions else known
