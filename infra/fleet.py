"""The hosts of a testbed, all roles alike, and the capacity reserved for them: what EC2 makes of the settings."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from infra.network import Network
from infra.roles import READ_AND_WRITE, in_bucket, instance_profile, role
from infra.settings import HostGroup, Role, Settings
from infra.user_data import FirstBoot, HostKey, host_key, user_data

TIMEOUT = "15m"
PLATFORM = "Linux/UNIX"  # what Amazon Linux is to EC2


@dataclass(frozen=True)
class FleetHost:
    """One host: its slot in the testbed, and the instance that fills it now."""

    name: str
    role: Role
    group: HostGroup
    generation: int
    key: HostKey
    instance: aws.ec2.Instance


class Fleet(pulumi.ComponentResource):
    """One instance per host name. A host whose generation is raised is replaced, the new instance before the old one goes:

    while the rejected one still runs, its noisy machine can't be handed out again.
    """

    def __init__(
        self, name: str, settings: Settings, network: Network, bucket: aws.s3.Bucket, opts: pulumi.ResourceOptions
    ) -> None:
        super().__init__("samebox:infra:Fleet", name, None, opts)
        self._name, self._settings, self._network = name, settings, network
        self._tags = dict(settings.tags)
        own = pulumi.ResourceOptions(parent=self)
        # a cluster placement group: machines side by side, with the full network between any two
        self._placement = aws.ec2.PlacementGroup(name, strategy="cluster", tags=self._tags, opts=own)
        self._reservations = self._reserve(network.availability_zone, own) if settings.reserve_capacity else []
        self._operator_key = aws.ec2.KeyPair(name, public_key=settings.public_key, tags=self._tags, opts=own)
        host_role = role(
            f"{name}-host",
            service="ec2.amazonaws.com",
            statements=in_bucket(bucket, READ_AND_WRITE),
            tags=self._tags,
            opts=own,
        )
        self._profile = instance_profile(f"{name}-host", host_role, tags=self._tags, opts=own)
        self.hosts = tuple(
            self._host(f"{role_name}-{at}", role_name, group)
            for role_name, group in settings.groups.items()
            for at in range(1, group.count + 1)
        )
        self.register_outputs({"instances": {host.name: host.instance.id for host in self.hosts}})

    def _host(self, name: str, role_name: Role, group: HostGroup) -> FleetHost:
        settings = self._settings
        generation = settings.generations.get(name, 1)
        key = host_key(settings.host_key_seed, campaign=settings.campaign, host=name, generation=generation)
        machine = group.machine
        boot = FirstBoot(name, key, settings.expires, machine.instance_disks, machine.ptp)
        own_tags = {"Name": f"samebox-{settings.campaign}-{name}", "host": name, "role": role_name}
        tags = {**self._tags, **own_tags, "generation": str(generation)}
        instance = aws.ec2.Instance(
            name,
            ami=settings.ami,
            instance_type=group.instance_type,
            subnet_id=self._network.hosts_subnet_id,
            associate_public_ip_address=True,  # SSH comes in by it; nothing but answers to SSH can go out by it
            vpc_security_group_ids=[self._network.hosts_firewall.group.id],
            placement_group=self._placement.name if role_name in settings.side_by_side else None,
            iam_instance_profile=self._profile.name,
            key_name=self._operator_key.key_name,
            instance_initiated_shutdown_behavior="terminate",
            metadata_options={"http_endpoint": "enabled", "http_tokens": "required", "http_put_response_hop_limit": 1},
            root_block_device={
                "volume_type": "gp3",
                "volume_size": group.root_volume_gib,
                "throughput": group.root_throughput_mib_per_s,
                "encrypted": True,
                "delete_on_termination": True,
            },
            volume_tags=tags,  # given as the volume is made: even an `up` that is killed leaves none untagged
            user_data=pulumi.Output.secret(user_data(boot)),
            tags=tags,
            opts=self._options(generation),
        )
        return FleetHost(name, role_name, group, generation, key, instance)

    def _options(self, generation: int) -> pulumi.ResourceOptions:
        return pulumi.ResourceOptions(
            parent=self,
            # no host is paid before all that were asked for are sure to be had
            depends_on=[*self._network.ways_to_hosts, *self._reservations],
            # a later `expires` reaches a running host over SSH: never by a new host
            ignore_changes=["userData"],
            replacement_trigger=generation,
            custom_timeouts=pulumi.CustomTimeouts(create=TIMEOUT, update=TIMEOUT, delete=TIMEOUT),
        )

    def _reserve(self, zone: pulumi.Input[str], opts: pulumi.ResourceOptions) -> list[aws.ec2.CapacityReservation]:
        """One reservation for each instance type, of all hosts of it in the placement group: AWS gives all of one or nothing.

        https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/cr-cpg.html. It is open, so every host of the type launched into this
        group runs in it, and nothing else does. A host that is replaced is launched while the old one still fills its place; a
        targeted launch would be refused then, an open one runs on demand.
        """
        counts: Counter[str] = Counter()
        for group in self._settings.side_by_side.values():
            counts[group.instance_type] += group.count
        return [
            aws.ec2.CapacityReservation(
                f"{self._name}-{kind}",
                instance_type=kind,
                instance_count=count,
                instance_platform=PLATFORM,
                instance_match_criteria="open",
                availability_zone=zone,
                placement_group_arn=self._placement.arn,
                # one that is forgotten isn't paid for ever: it ends with the hosts
                end_date_type="limited",
                end_date=self._settings.expires,
                tags={**self._tags, "Name": f"{self._name}-{self._settings.campaign}-{kind}"},
                opts=opts,
            )
            for kind, count in counts.items()
            if count
        ]
