"""Bucket policies with their conditions: moto denies where a statement's condition isn't met, S3 passes such a statement over."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from moto.iam.access_control import IAMPolicy, PermissionResult
from moto.s3.models import FakeBucket

# the double's plain HTTP stands for the TLS that every client of AWS speaks
KNOWN = {"aws:SecureTransport": "true"}


def install() -> None:
    """Makes moto's S3 judge so."""
    FakeBucket.get_permission = get_permission  # type: ignore[method-assign]


def get_permission(self: Any, action: str, resource: str) -> Any:
    """What the bucket's policy says to an action. Raises ValueError for conditions that the double can't judge."""
    statements = json.loads(self.policy)["Statement"] if self.policy is not None else []
    applying = [
        {name: value for name, value in statement.items() if name != "Condition"}
        for statement in statements
        if _met(statement.get("Condition", {}))
    ]
    if not applying:
        return PermissionResult.NEUTRAL
    return IAMPolicy(json.dumps({"Statement": applying})).is_action_permitted(action, resource)


def _met(conditions: Mapping[str, Mapping[str, str]]) -> bool:
    unknown = [kind for kind in conditions if kind != "Bool"]
    unknown += [key for keys in conditions.values() for key in keys if key not in KNOWN]
    if unknown:
        raise ValueError(f"this cloud can't judge a bucket policy's {', '.join(unknown)}")
    return all(str(wanted).lower() == KNOWN[key] for keys in conditions.values() for key, wanted in keys.items())
