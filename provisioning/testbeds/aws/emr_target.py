"""Where the report runs on AWS, as the stack says it. Data only: it calls nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from provisioning.document import build
from provisioning.errors import InvalidInput
from provisioning.testbeds.aws.cluster_timer import ClusterTimer
from provisioning.testbeds.aws.emr_sizes import SparkSizes, sizes_on

# Spark 3.5.6 and Python 3.11: what requirements.lock has, and what the job's tests run on
RELEASE = "emr-7.13.0"
_EMR_TAG = {"for-use-with-amazon-emr-managed-policies": "true"}  # EMR's managed policy acts on nothing that lacks it
_ANOTHER_TYPE = "pulumi config set samebox:reportInstanceType m5.xlarge, then pulumi up."
_GRAVITON = re.compile(r"(a1|[a-z]+\d+g[a-z]*)\.")


@dataclass(frozen=True)
class EmrTarget:
    """A place for the report: bucket, network, roles and size of the cluster that is started for it, and what ends it at last."""

    region: str
    bucket: str
    service_role: str
    instance_profile: str
    subnet: str
    master_security_group: str
    slave_security_group: str
    service_access_security_group: str
    release: str
    instance_type: str
    instances: int
    tags: Mapping[str, str] = field(default_factory=dict)
    timer: ClusterTimer | None = None

    @property
    def sizes(self) -> SparkSizes:
        """Of driver and executors on that cluster. Raises InvalidInput if they have no room there."""
        return sizes_on(self.instance_type, self.instances - 1, where="emr.instance_type", next_step=_ANOTHER_TYPE)


@dataclass(frozen=True)
class _Cluster:
    """The stack's output `emr`."""

    service_role: str
    instance_profile: str
    subnet: str
    master_security_group: str
    slave_security_group: str
    service_access_security_group: str
    release: str
    instance_type: str
    instances: int


def emr_target(outputs: Mapping[str, Any], *, where: str) -> EmrTarget:
    """From what `pulumi stack output --json` prints. Raises InvalidInput naming what is missing or can't run the report."""
    missing = [name for name in ("region", "resultsBucket", "emr", "timer", "inventory") if not outputs.get(name)]
    if missing:
        raise InvalidInput(
            f"{where}: lacks {', '.join(missing)}.",
            next_step="Select the stack of the testbed (`pulumi stack select`) and let `pulumi up` finish.",
        )
    cluster = build(_Cluster, dict(outputs["emr"]), where=f"{where}: emr")
    if cluster.release != RELEASE:
        raise InvalidInput(
            f"{where}: emr.release is {cluster.release}; the report is tested with {RELEASE} and nothing else."
        )
    if _GRAVITON.match(cluster.instance_type):
        raise InvalidInput(
            f"{where}: emr.instance_type {cluster.instance_type} has ARM processors; the report's packages are for x86-64.",
            next_step=_ANOTHER_TYPE,
        )
    if cluster.instances < 1:
        raise InvalidInput(f"{where}: emr.instances is {cluster.instances}; at least 1 is needed.")
    sizes_on(
        cluster.instance_type,
        cluster.instances - 1,
        where=f"{where}: emr.instance_type",
        next_step=_ANOTHER_TYPE,
    )
    return EmrTarget(
        region=str(outputs["region"]),
        bucket=str(outputs["resultsBucket"]),
        **vars(cluster),
        tags=_tags(outputs),
        timer=_timer(outputs, where=f"{where}: timer"),
    )


@dataclass(frozen=True)
class _Timer:
    """The stack's output `timer`."""

    group: str
    role: str


def _timer(outputs: Mapping[str, Any], *, where: str) -> ClusterTimer | None:
    expires = _inventory(outputs).get("expires")
    timer = build(_Timer, dict(outputs["timer"]), where=where)
    return ClusterTimer(timer.group, timer.role, str(expires)) if expires else None


def _inventory(outputs: Mapping[str, Any]) -> Mapping[str, Any]:
    exported = outputs["inventory"]
    inventory: Mapping[str, Any] = json.loads(exported) if isinstance(exported, str) else exported
    return inventory


def _tags(outputs: Mapping[str, Any]) -> dict[str, str]:
    """The tags by which a sweep finds what belongs to the stack's campaign."""
    inventory = _inventory(outputs)
    known = {
        "campaign": inventory.get("testbed", {}).get("name"),
        "stack": outputs.get("stack"),
        "expires": inventory.get("expires"),
        "owner": outputs.get("owner"),
    }
    return {"project": "samebox", **_EMR_TAG, **{key: str(value) for key, value in known.items() if value}}
