"""A plan's overrides: which component they belong to. It refuses components that the system doesn't have."""

from __future__ import annotations

import difflib
from collections.abc import Collection

from provisioning.errors import DeploymentError
from systems.deployment import Plan

CLIENT = "client"  # the component of every system that is no process of it: the load generator's client


def overrides_for(plan: Plan, component: str) -> dict[str, str]:
    """What the plan asks of one component: of its kind on all hosts ("broker"), then of itself ("broker/broker-1")."""
    kind = component.rpartition("/")[0]
    return {**(plan.overrides.get(kind, {}) if kind else {}), **plan.overrides.get(component, {})}


def check_overrides(plan: Plan, components: Collection[str]) -> None:
    """Raises DeploymentError naming an override's component that there isn't, and the ones there are."""
    kinds = {component.rpartition("/")[0] for component in components} - {""}
    valid = sorted({*components, *kinds, CLIENT})
    for component in plan.overrides:
        if component not in valid:
            close = difflib.get_close_matches(component, valid, n=1)
            guess = f" Did you mean {close[0]!r}?" if close else ""
            raise DeploymentError(
                f"settings for unknown component {component!r}.{guess}",
                next_step=f"Valid components: {', '.join(valid)}.",
            )
