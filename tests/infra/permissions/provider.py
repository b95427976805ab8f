"""The recorded calls of the real AWS provider. README.md: where they come from, what is known, what is inferred."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from moto.core.request import Request

from provisioning.testbeds.aws.rehearsal.iam.asks import made_by
from provisioning.testbeds.aws.rehearsal.iam.calls import Call
from tests.cloud.requests import read_call

RECORDED = Path(__file__).with_name("provider_calls.jsonl")


@dataclass(frozen=True)
class Stack:
    """What the calls say of what they made: all things of a type are tagged as the first was. `roles`: instance profile -> role."""

    tags_by_kind: Mapping[str, Mapping[str, str]]
    roles: Mapping[str, str]

    def tags(self, kind: str, name: str) -> Mapping[str, str]:
        """As a thing of this type was tagged when it was made."""
        del name
        return self.tags_by_kind.get(kind, {})

    def role_of(self, profile: str) -> str:
        """The role that was added to it."""
        return self.roles[profile]


@cache
def recorded() -> tuple[tuple[Call, int], ...]:
    """All calls with how often each was made, in the order of their first appearance."""
    lines = map(json.loads, RECORDED.read_text().splitlines())
    return tuple((read_call(line["service"], _request(line)), line["times"]) for line in lines)


def recorded_calls() -> tuple[Call, ...]:
    """Equal ones once."""
    return tuple(call for call, _ in recorded())


def _request(line: Mapping[str, str]) -> Request:
    of_query = {"Content-Type": "application/x-www-form-urlencoded"} if line["path"] == "/" else {}
    return Request.from_primitives(line["method"], f"http://localhost{line['path']}", of_query, line["body"])


@cache
def recorded_stack() -> Stack:
    """Of all recorded calls."""
    tags: dict[str, dict[str, str]] = {}
    roles = {}
    for call in recorded_calls():
        for kind, given in made_by(call):
            tags.setdefault(kind, {}).update(given)
        if call.operation == "AddRoleToInstanceProfile":
            roles[call.parameters["InstanceProfileName"]] = call.parameters["RoleName"]
    return Stack(tags, roles)
