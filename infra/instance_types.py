"""The instance types a host may have, as a table of what infra needs to know of them. It asks AWS nothing.

From AWS' DescribeInstanceTypes. A type that isn't here is refused in preview: add its line.
"""

from __future__ import annotations

from dataclasses import dataclass

X86_64, ARM64 = "x86_64", "arm64"


@dataclass(frozen=True)
class InstanceType:
    """What one instance type has. `instance_disks` are NVMe disks of the machine itself, lost when the instance ends.

    `burstable`: it has its processors for a share of the time, and more of it by credits. `ptp`: it has a PTP hardware clock.
    `architecture`: of its processors, as AWS names it.
    """

    name: str
    vcpus: int
    instance_disks: int
    cluster_placement: bool
    burstable: bool = False
    ptp: bool = False
    architecture: str = X86_64


INSTANCE_TYPES = {
    known.name: known
    for known in (
        InstanceType("i3en.large", vcpus=2, instance_disks=1, cluster_placement=True),
        InstanceType("i3en.xlarge", vcpus=4, instance_disks=1, cluster_placement=True),
        InstanceType("i3en.2xlarge", vcpus=8, instance_disks=2, cluster_placement=True),
        InstanceType("i3en.3xlarge", vcpus=12, instance_disks=1, cluster_placement=True),
        InstanceType("i3en.6xlarge", vcpus=24, instance_disks=2, cluster_placement=True),
        InstanceType("i3en.12xlarge", vcpus=48, instance_disks=4, cluster_placement=True),
        InstanceType("i3en.24xlarge", vcpus=96, instance_disks=8, cluster_placement=True),
        InstanceType("i4i.large", vcpus=2, instance_disks=1, cluster_placement=True),
        InstanceType("i4i.xlarge", vcpus=4, instance_disks=1, cluster_placement=True),
        InstanceType("i4i.2xlarge", vcpus=8, instance_disks=1, cluster_placement=True),
        InstanceType("i4i.4xlarge", vcpus=16, instance_disks=1, cluster_placement=True),
        InstanceType("i4i.8xlarge", vcpus=32, instance_disks=2, cluster_placement=True),
        InstanceType("i4i.12xlarge", vcpus=48, instance_disks=3, cluster_placement=True),
        InstanceType("i4i.16xlarge", vcpus=64, instance_disks=4, cluster_placement=True),
        InstanceType("i4i.24xlarge", vcpus=96, instance_disks=6, cluster_placement=True),
        InstanceType("i4i.32xlarge", vcpus=128, instance_disks=8, cluster_placement=True),
        InstanceType("m5n.large", vcpus=2, instance_disks=0, cluster_placement=True),
        InstanceType("m5n.xlarge", vcpus=4, instance_disks=0, cluster_placement=True),
        InstanceType("m5n.2xlarge", vcpus=8, instance_disks=0, cluster_placement=True),
        InstanceType("m5n.4xlarge", vcpus=16, instance_disks=0, cluster_placement=True),
        InstanceType("m5n.8xlarge", vcpus=32, instance_disks=0, cluster_placement=True),
        InstanceType("m5n.12xlarge", vcpus=48, instance_disks=0, cluster_placement=True),
        InstanceType("m5n.16xlarge", vcpus=64, instance_disks=0, cluster_placement=True),
        InstanceType("m5n.24xlarge", vcpus=96, instance_disks=0, cluster_placement=True),
        InstanceType("c5n.large", vcpus=2, instance_disks=0, cluster_placement=True),
        InstanceType("c5n.xlarge", vcpus=4, instance_disks=0, cluster_placement=True),
        InstanceType("c5n.2xlarge", vcpus=8, instance_disks=0, cluster_placement=True),
        InstanceType("c5n.4xlarge", vcpus=16, instance_disks=0, cluster_placement=True),
        InstanceType("c5n.9xlarge", vcpus=36, instance_disks=0, cluster_placement=True),
        InstanceType("c5n.18xlarge", vcpus=72, instance_disks=0, cluster_placement=True),
        InstanceType("m5.large", vcpus=2, instance_disks=0, cluster_placement=True),
        InstanceType("m5.xlarge", vcpus=4, instance_disks=0, cluster_placement=True),
        InstanceType("m5.2xlarge", vcpus=8, instance_disks=0, cluster_placement=True),
        InstanceType("m5.4xlarge", vcpus=16, instance_disks=0, cluster_placement=True),
        InstanceType("m5.8xlarge", vcpus=32, instance_disks=0, cluster_placement=True),
        InstanceType("m5.12xlarge", vcpus=48, instance_disks=0, cluster_placement=True),
        InstanceType("m5.16xlarge", vcpus=64, instance_disks=0, cluster_placement=True),
        InstanceType("m5.24xlarge", vcpus=96, instance_disks=0, cluster_placement=True),
        InstanceType("i7ie.large", vcpus=2, instance_disks=1, cluster_placement=True, ptp=True),
        InstanceType("i7ie.xlarge", vcpus=4, instance_disks=1, cluster_placement=True, ptp=True),
        InstanceType("i7ie.2xlarge", vcpus=8, instance_disks=2, cluster_placement=True, ptp=True),
        InstanceType("i7ie.3xlarge", vcpus=12, instance_disks=1, cluster_placement=True, ptp=True),
        InstanceType("i7ie.6xlarge", vcpus=24, instance_disks=2, cluster_placement=True, ptp=True),
        InstanceType("i7ie.12xlarge", vcpus=48, instance_disks=4, cluster_placement=True, ptp=True),
        InstanceType("i7ie.18xlarge", vcpus=72, instance_disks=6, cluster_placement=True, ptp=True),
        InstanceType("i7ie.24xlarge", vcpus=96, instance_disks=8, cluster_placement=True, ptp=True),
        InstanceType("m7i.large", vcpus=2, instance_disks=0, cluster_placement=True, ptp=True),
        InstanceType("m7i.xlarge", vcpus=4, instance_disks=0, cluster_placement=True, ptp=True),
        InstanceType("m7i.2xlarge", vcpus=8, instance_disks=0, cluster_placement=True, ptp=True),
        InstanceType("m7i.4xlarge", vcpus=16, instance_disks=0, cluster_placement=True, ptp=True),
        InstanceType("m7i.8xlarge", vcpus=32, instance_disks=0, cluster_placement=True, ptp=True),
        InstanceType("m7i.12xlarge", vcpus=48, instance_disks=0, cluster_placement=True, ptp=True),
        InstanceType("m7i.16xlarge", vcpus=64, instance_disks=0, cluster_placement=True, ptp=True),
        InstanceType("m7i.24xlarge", vcpus=96, instance_disks=0, cluster_placement=True, ptp=True),
        InstanceType("i4g.large", vcpus=2, instance_disks=1, cluster_placement=True, architecture=ARM64),
        InstanceType("i4g.xlarge", vcpus=4, instance_disks=1, cluster_placement=True, architecture=ARM64),
        InstanceType("i4g.2xlarge", vcpus=8, instance_disks=1, cluster_placement=True, architecture=ARM64),
        InstanceType("i4g.4xlarge", vcpus=16, instance_disks=1, cluster_placement=True, architecture=ARM64),
        InstanceType("i4g.8xlarge", vcpus=32, instance_disks=2, cluster_placement=True, architecture=ARM64),
        InstanceType("i4g.16xlarge", vcpus=64, instance_disks=4, cluster_placement=True, architecture=ARM64),
        InstanceType("im4gn.large", vcpus=2, instance_disks=1, cluster_placement=True, architecture=ARM64),
        InstanceType("im4gn.xlarge", vcpus=4, instance_disks=1, cluster_placement=True, architecture=ARM64),
        InstanceType("im4gn.2xlarge", vcpus=8, instance_disks=1, cluster_placement=True, architecture=ARM64),
        InstanceType("im4gn.4xlarge", vcpus=16, instance_disks=1, cluster_placement=True, architecture=ARM64),
        InstanceType("im4gn.8xlarge", vcpus=32, instance_disks=2, cluster_placement=True, architecture=ARM64),
        InstanceType("im4gn.16xlarge", vcpus=64, instance_disks=4, cluster_placement=True, architecture=ARM64),
        InstanceType("i8g.large", vcpus=2, instance_disks=1, cluster_placement=True, ptp=True, architecture=ARM64),
        InstanceType("i8g.xlarge", vcpus=4, instance_disks=1, cluster_placement=True, ptp=True, architecture=ARM64),
        InstanceType("i8g.2xlarge", vcpus=8, instance_disks=1, cluster_placement=True, ptp=True, architecture=ARM64),
        InstanceType("i8g.4xlarge", vcpus=16, instance_disks=1, cluster_placement=True, ptp=True, architecture=ARM64),
        InstanceType("i8g.8xlarge", vcpus=32, instance_disks=2, cluster_placement=True, ptp=True, architecture=ARM64),
        InstanceType("i8g.12xlarge", vcpus=48, instance_disks=3, cluster_placement=True, ptp=True, architecture=ARM64),
        InstanceType("i8g.16xlarge", vcpus=64, instance_disks=4, cluster_placement=True, ptp=True, architecture=ARM64),
        InstanceType("i8g.24xlarge", vcpus=96, instance_disks=6, cluster_placement=True, ptp=True, architecture=ARM64),
        InstanceType("c6gn.large", vcpus=2, instance_disks=0, cluster_placement=True, architecture=ARM64),
        InstanceType("c6gn.xlarge", vcpus=4, instance_disks=0, cluster_placement=True, architecture=ARM64),
        InstanceType("c6gn.2xlarge", vcpus=8, instance_disks=0, cluster_placement=True, architecture=ARM64),
        InstanceType("c6gn.4xlarge", vcpus=16, instance_disks=0, cluster_placement=True, architecture=ARM64),
        InstanceType("c6gn.8xlarge", vcpus=32, instance_disks=0, cluster_placement=True, architecture=ARM64),
        InstanceType("c6gn.12xlarge", vcpus=48, instance_disks=0, cluster_placement=True, architecture=ARM64),
        InstanceType("c6gn.16xlarge", vcpus=64, instance_disks=0, cluster_placement=True, architecture=ARM64),
        InstanceType("m6g.large", vcpus=2, instance_disks=0, cluster_placement=True, architecture=ARM64),
        InstanceType("m6g.xlarge", vcpus=4, instance_disks=0, cluster_placement=True, architecture=ARM64),
        InstanceType("m6g.2xlarge", vcpus=8, instance_disks=0, cluster_placement=True, architecture=ARM64),
        InstanceType("m6g.4xlarge", vcpus=16, instance_disks=0, cluster_placement=True, architecture=ARM64),
        InstanceType("m6g.8xlarge", vcpus=32, instance_disks=0, cluster_placement=True, architecture=ARM64),
        InstanceType("m6g.12xlarge", vcpus=48, instance_disks=0, cluster_placement=True, architecture=ARM64),
        InstanceType("m6g.16xlarge", vcpus=64, instance_disks=0, cluster_placement=True, architecture=ARM64),
        InstanceType("m7g.large", vcpus=2, instance_disks=0, cluster_placement=True, ptp=True, architecture=ARM64),
        InstanceType("m7g.xlarge", vcpus=4, instance_disks=0, cluster_placement=True, ptp=True, architecture=ARM64),
        InstanceType("m7g.2xlarge", vcpus=8, instance_disks=0, cluster_placement=True, ptp=True, architecture=ARM64),
        InstanceType("m7g.4xlarge", vcpus=16, instance_disks=0, cluster_placement=True, ptp=True, architecture=ARM64),
        InstanceType("m7g.8xlarge", vcpus=32, instance_disks=0, cluster_placement=True, ptp=True, architecture=ARM64),
        InstanceType("m7g.12xlarge", vcpus=48, instance_disks=0, cluster_placement=True, ptp=True, architecture=ARM64),
        InstanceType("m7g.16xlarge", vcpus=64, instance_disks=0, cluster_placement=True, ptp=True, architecture=ARM64),
        InstanceType("t3.small", vcpus=2, instance_disks=0, cluster_placement=False, burstable=True),
        InstanceType("t3.medium", vcpus=2, instance_disks=0, cluster_placement=False, burstable=True),
        InstanceType("t3.large", vcpus=2, instance_disks=0, cluster_placement=False, burstable=True),
    )
}

# Families whose machines, from 4 vCPUs on, the report's cluster can be of: EMR has them, it is known how much of their memory driver
# and executors may have (emr_nodes.toml in provisioning/testbeds/aws), and what EMR charges for them (prices.toml there).
REPORT_FAMILIES = ("m5",)
REPORT_LEAST_VCPUS = 4
REPORT_TYPES = tuple(
    known.name
    for known in INSTANCE_TYPES.values()
    if known.name.partition(".")[0] in REPORT_FAMILIES and known.vcpus >= REPORT_LEAST_VCPUS
)
