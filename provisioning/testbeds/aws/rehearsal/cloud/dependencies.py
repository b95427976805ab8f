"""What EC2 won't delete because something uses it, where moto deletes it: subnets and security groups with network interfaces.

An EMR cluster's machines stand in its subnet, behind its security groups, from its start to its end; and so does, in a private
subnet, an interface of the EMR service itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from moto.ec2.exceptions import EC2ClientError
from moto.ec2.models import EC2Backend

OF_EMR = "ElasticMapReduce"


def install() -> None:
    """Lets a network interface hold what it stands in and behind, and go with its instance."""
    moto_delete_subnet, moto_delete_group = EC2Backend.delete_subnet, EC2Backend.delete_security_group

    def delete_subnet(self: Any, subnet_id: str) -> Any:
        if any(each.subnet.id == subnet_id for each in _interfaces(self)):
            raise EC2ClientError(
                "DependencyViolation", f"The subnet '{subnet_id}' has dependencies and cannot be deleted."
            )
        return moto_delete_subnet(self, subnet_id)

    def delete_security_group(self: Any, name: str | None = None, group_id: str | None = None) -> Any:
        if any(group_id == group.id for each in _interfaces(self) for group in each.group_set):
            raise EC2ClientError("DependencyViolation", f"resource {group_id} has a dependent object")
        return moto_delete_group(self, name, group_id)

    moto_interfaces = EC2Backend.get_all_network_interfaces

    def get_all_network_interfaces(self: Any, *asked: Any, **named: Any) -> Any:
        let_go(self, sorted(set(self.enis) - {each.id for each in _interfaces(self)}))
        return moto_interfaces(self, *asked, **named)

    EC2Backend.get_all_network_interfaces = get_all_network_interfaces  # type: ignore[method-assign]
    EC2Backend.delete_subnet = delete_subnet  # type: ignore[method-assign]
    EC2Backend.delete_security_group = delete_security_group  # type: ignore[method-assign]


def hold_network(ec2: Any, cluster: Any) -> list[str]:
    """Gives a cluster an interface behind each of its security groups: primary, core, the service's. Returns their ids."""
    groups = (cluster.master_security_group, cluster.slave_security_group, cluster.service_access_security_group)
    if not cluster.ec2_subnet_id:
        return []
    return [
        ec2.create_network_interface(
            cluster.ec2_subnet_id, "", group_ids=[group], description=f"{OF_EMR}-{cluster.id}"
        ).id
        for group in dict.fromkeys(groups)
        if group
    ]


def let_go(ec2: Any, interfaces: list[str]) -> None:
    """Takes interfaces away; those that somebody else has taken away are fine."""
    for each in interfaces:
        ec2.enis.pop(each, None)


def _interfaces(ec2: Any) -> Iterator[Any]:
    """Those that there are: the interface of an instance that has ended is gone, although moto keeps it."""
    for each in list(ec2.enis.values()):
        if each.instance is None or each.instance.state != "terminated":
            yield each
