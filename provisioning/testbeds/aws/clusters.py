"""The EMR clusters of a stack, ended before the stack goes: one that runs holds its roles, security groups and subnet.

A cluster isn't a resource of the stack (infra/emr.py says why), so `pulumi destroy` knows nothing of it, would delete the roles by
which EMR ends its machines, and then wait for a network that they are still in.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from provisioning.errors import SameboxError
from provisioning.testbeds.aws.leftovers import Scope, live_clusters
from provisioning.testbeds.aws.session import Region, explained, session
from provisioning.testbeds.aws.stack import Follow, Stack

# EMR takes two to five minutes to end a cluster, longer while it is still starting
ENDS_WITHIN_S = 1200.0
POLL_EVERY_S = 10.0


def end_clusters(
    stack: Stack,
    on_line: Follow,
    *,
    poll_every_s: float = POLL_EVERY_S,
    now_s: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Ends every cluster with the stack's tags, and returns when none runs. Raises SameboxError if that takes too long."""
    name, campaign = stack.required("region", "campaign")
    region, scope = Region(session(name), name), Scope(campaign, stack.tag)
    deadline_s = now_s() + ENDS_WITHIN_S
    told: set[str] = set()
    needs = "While one runs, its roles and network can't be deleted. `samebox sweep` shows it."
    with explained(f"end the EMR clusters of stack {stack.name}", refused=needs, cut_off=needs):
        while running := list(live_clusters(region, scope)):
            fresh = [cluster.id for cluster in running if not cluster.ending and cluster.id not in told]
            if fresh:
                on_line(f"ending EMR clusters: {', '.join(fresh)}")
                region.client("emr").terminate_job_flows(JobFlowIds=fresh)
                told.update(fresh)
            if now_s() > deadline_s:
                names = ", ".join(cluster.id for cluster in running)
                raise SameboxError(
                    f"{names} hasn't ended within {ENDS_WITHIN_S / 60:.0f} minutes; the stack can't be destroyed before.",
                    next_step=f"Look at it: aws emr describe-cluster --region {region.name} --cluster-id {running[0].id}   "
                    f"then: pulumi destroy --stack {stack.name}",
                )
            on_line(f"waiting for the end of {', '.join(f'{each.id} ({each.state})' for each in running)}")
            sleep(poll_every_s)
