"""A campaign as a manifest writes it down, as plain data; what an earlier version didn't know yet has the default that it has now."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

from bench.campaign.campaign import Campaign, Experiment
from contract.workload import Workload


def definition_of(campaign: Campaign) -> dict[str, Any]:
    """The manifest's `definition` of a campaign."""
    return dict(json.loads(json.dumps(dataclasses.asdict(campaign))))


def completed_definition(definition: Mapping[str, Any]) -> dict[str, Any]:
    """A manifest's definition with every key: one that wasn't there yet when the campaign began had what is its default now."""

    def with_workloads(part: Mapping[str, Any]) -> dict[str, Any]:
        return {**part, "workloads": [completed_workload(workload) for workload in part["workloads"]]}

    experiments = [with_workloads({**_defaults(Experiment), **each}) for each in definition["experiments"]]
    return with_workloads({**_defaults(Campaign), **definition, "experiments": experiments})


def completed_workload(workload: Mapping[str, Any]) -> dict[str, Any]:
    """The same of one workload."""
    return {**_defaults(Workload), **workload}


def _defaults(kind: type[Campaign | Experiment | Workload]) -> dict[str, Any]:
    """Key -> its default, as JSON has it."""
    found = {}
    for each in dataclasses.fields(kind):
        if each.default_factory is not dataclasses.MISSING:
            found[each.name] = each.default_factory()
        elif each.default is not dataclasses.MISSING:
            found[each.name] = each.default
    return dict(json.loads(json.dumps(found)))
