"""Where the report runs on AWS, as the stack says."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from provisioning.document import build
from provisioning.errors import InvalidInput
from provisioning.testbeds.aws.emr_sizes import SparkSizes, sizes_on

# Spark 3.5.6 and Python 3.11: what requirements.lock has, and what the job's tests run on
RELEASE = "emr-7.13.0"
_EMR_TAG = {"for-use-with-amazon-emr-managed-policies": "true"}  # EMR's managed policy acts on nothing that lacks it
_ANOTHER_TYPE = "pulumi config set samebox:reportInstanceType m5.xlarge, then pulumi up."
_GRAVITON = re.compile(r"(a1|[a-z]+\d+g[a-z]*)\.")


@dataclass(frozen=True)
class ClusterTimer:
    """What ends a cluster at last: the stack's schedule group, the role that ends things in it, and when (UTC)."""

    group: str
    role: str
    expires: str


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

    def sizes(self, where: str = "emr.instance_type") -> SparkSizes:
        """Of driver and executors on that cluster. Raises InvalidInput, naming `where` its type stands, if they have no room there."""
        return sizes_on(self.instance_type, self.instances - 1, where=where, next_step=_ANOTHER_TYPE)


def emr_target(outputs: Mapping[str, Any], *, where: str) -> EmrTarget:
    """From what `pulumi stack output --json` prints. Raises InvalidInput naming what is missing or can't run the report."""
    missing = [name for name in ("region", "resultsBucket", "emr", "timer", "inventory") if not outputs.get(name)]
    if missing:
        raise InvalidInput(
            f"{where}: lacks {', '.join(missing)}.",
            next_step="Select the stack of the testbed (`pulumi stack select`) and let `pulumi up` finish.",
        )
    inventory = outputs["inventory"]
    if isinstance(inventory, str):
        inventory = json.loads(inventory)
    expires, timer = inventory.get("expires"), None
    if expires:
        timer = build(ClusterTimer, {**outputs["timer"], "expires": str(expires)}, where=f"{where}: timer")
    tags = {
        "campaign": inventory.get("testbed", {}).get("name"),
        "stack": outputs.get("stack"),
        "expires": expires,
        "owner": outputs.get("owner"),
    }
    target = build(
        EmrTarget,
        {
            **outputs["emr"],
            "region": str(outputs["region"]),
            "bucket": str(outputs["resultsBucket"]),
            # a sweep finds by these what belongs to the stack's campaign
            "tags": {"project": "samebox", **_EMR_TAG, **{key: str(value) for key, value in tags.items() if value}},
            "timer": timer,
        },
        where=f"{where}: emr",
    )
    if target.release != RELEASE:
        raise InvalidInput(
            f"{where}: emr.release is {target.release}; the report is tested with {RELEASE} and nothing else."
        )
    if _GRAVITON.match(target.instance_type):
        raise InvalidInput(
            f"{where}: emr.instance_type {target.instance_type} has ARM processors; the report's packages are for x86-64.",
            next_step=_ANOTHER_TYPE,
        )
    if target.instances < 1:
        raise InvalidInput(f"{where}: emr.instances is {target.instances}; at least 1 is needed.")
    target.sizes(f"{where}: emr.instance_type")
    return target
