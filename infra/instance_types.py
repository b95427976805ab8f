"""The instance types a host may have, as a table of what infra needs to know of them, from AWS' DescribeInstanceTypes.

A type that isn't here is refused in preview: add it to its family.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

X86_64, ARM64 = "x86_64", "arm64"


@dataclass(frozen=True)
class InstanceType:
    """What one instance type has. `instance_disks` are NVMe disks of the machine itself, lost when the instance ends.

    `burstable`: its processors are its own for a share of the time, more of it for credits. `ptp`: it has a PTP hardware clock.
    `architecture`: of its processors, as AWS names it.
    """

    name: str
    vcpus: int
    instance_disks: int
    cluster_placement: bool
    burstable: bool = False
    ptp: bool = False
    architecture: str = X86_64


def _family(
    family: str,
    disks_by_size: Mapping[str, int],
    *,
    cluster_placement: bool = True,
    burstable: bool = False,
    ptp: bool = False,
    architecture: str = X86_64,
) -> Iterator[InstanceType]:
    """The types of a family, by size. AWS names a size after its vCPUs: 4 to an xlarge, 2 to whatever is smaller."""
    for size, disks in disks_by_size.items():
        xlarges = size.removesuffix("xlarge")
        vcpus = 2 if xlarges == size else 4 * int(xlarges or 1)
        yield InstanceType(f"{family}.{size}", vcpus, disks, cluster_placement, burstable, ptp, architecture)


_TO_16XLARGE = dict.fromkeys(("large", "xlarge", "2xlarge", "4xlarge", "8xlarge", "12xlarge", "16xlarge"), 0)
_TO_24XLARGE = {**_TO_16XLARGE, "24xlarge": 0}
_I3EN = {"large": 1, "xlarge": 1, "2xlarge": 2, "3xlarge": 1, "6xlarge": 2, "12xlarge": 4, "24xlarge": 8}
_I4G = {"large": 1, "xlarge": 1, "2xlarge": 1, "4xlarge": 1, "8xlarge": 2, "16xlarge": 4}
_I8G = {"large": 1, "xlarge": 1, "2xlarge": 1, "4xlarge": 1, "8xlarge": 2, "12xlarge": 3, "16xlarge": 4, "24xlarge": 6}
_I7IE = {"large": 1, "xlarge": 1, "2xlarge": 2, "3xlarge": 1, "6xlarge": 2, "12xlarge": 4, "18xlarge": 6, "24xlarge": 8}
_C5N = dict.fromkeys(("large", "xlarge", "2xlarge", "4xlarge", "9xlarge", "18xlarge"), 0)

INSTANCE_TYPES = {
    known.name: known
    for known in (
        *_family("i3en", _I3EN),
        *_family("i4i", {**_I8G, "32xlarge": 8}),
        *_family("m5n", _TO_24XLARGE),
        *_family("c5n", _C5N),
        *_family("m5", _TO_24XLARGE),
        *_family("i7ie", _I7IE, ptp=True),
        *_family("m7i", _TO_24XLARGE, ptp=True),
        *_family("i4g", _I4G, architecture=ARM64),
        *_family("im4gn", _I4G, architecture=ARM64),
        *_family("i8g", _I8G, ptp=True, architecture=ARM64),
        *_family("c6gn", _TO_16XLARGE, architecture=ARM64),
        *_family("m6g", _TO_16XLARGE, architecture=ARM64),
        *_family("m7g", _TO_16XLARGE, ptp=True, architecture=ARM64),
        *_family("t3", dict.fromkeys(("small", "medium", "large"), 0), cluster_placement=False, burstable=True),
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
