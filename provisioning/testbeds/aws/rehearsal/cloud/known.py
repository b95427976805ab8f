"""What IAM knows of the things in the local cloud, of whatever service: their tags, the role in a profile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from moto.ec2.models import ec2_backends
from moto.emr.models import emr_backends
from moto.iam.models import iam_backends

from provisioning.testbeds.aws.rehearsal.cloud.placement_groups import groups
from provisioning.testbeds.aws.rehearsal.iam.calls import tag_table
from provisioning.testbeds.aws.rehearsal.iam.reference import ACCOUNT


@dataclass(frozen=True)
class KnownThings:
    """Of one region."""

    region: str

    def tags(self, kind: str, name: str) -> Mapping[str, str]:
        """Those that it has now; none of what doesn't exist."""
        if kind == "cluster":
            cluster = emr_backends[ACCOUNT][self.region].clusters.get(name)
            return tag_table(cluster.tags) if cluster else {}
        ec2 = ec2_backends[ACCOUNT][self.region]
        found: Mapping[str, str] = ec2.tags.get(self._id(ec2, kind, name), {})
        return found

    def role_of(self, profile: str) -> str:
        """The role's name; empty where there is no such profile, or none in it."""
        profiles = iam_backends[ACCOUNT]["aws"].instance_profiles.values()
        return next((role.name for each in profiles if each.name == profile for role in each.roles), "")

    def _id(self, ec2: Any, kind: str, name: str) -> str:
        """By which EC2 keeps a thing's tags."""
        if kind == "key-pair" and name in ec2.key_pairs:
            return str(ec2.key_pairs[name].id)
        if kind == "placement-group" and name in groups(ec2):
            return str(groups(ec2)[name]["GroupId"])
        if name.startswith("rtbassoc-"):
            for table in ec2.route_tables.values():
                if name in table._associations:
                    return str(table.id if kind == "route-table" else table._associations[name])
        return name
