"""What is known of instance types' networks, processors and clocks: against what AWS has answered, and in words."""

from __future__ import annotations

import gzip
import json
from importlib import resources

from infra.instance_types import INSTANCE_TYPES
from provisioning.testbeds.aws.instance_limits import load_limits


def test_every_type_has_the_limits_that_aws_says() -> None:
    """Of each type that a host may have, against DescribeInstanceTypes as moto has recorded it."""
    packed = resources.files("moto").joinpath("ec2/resources/instance_types.json.gz").read_bytes()
    recorded = json.loads(gzip.decompress(packed))
    limits = load_limits()
    assert set(limits) == set(INSTANCE_TYPES)
    for name, known in limits.items():
        (card,) = recorded[name]["NetworkInfo"]["NetworkCards"]
        assert (known.baseline_gbit_per_s, known.peak_gbit_per_s, known.burstable, known.ptp) == (
            card["BaselineBandwidthInGbps"],
            card["PeakBandwidthInGbps"],
            recorded[name]["BurstablePerformanceSupported"],
            recorded[name]["PhcSupport"] == "supported",
        ), name
        assert [known.architecture] == recorded[name]["ProcessorInfo"]["SupportedArchitectures"], name
        ours = INSTANCE_TYPES[name]
        assert (ours.burstable, ours.ptp, ours.architecture) == (known.burstable, known.ptp, known.architecture), name


def test_bandwidth_by_credits_is_told_from_bandwidth() -> None:
    """An "up to" type has less at all times than its name promises."""
    limits = load_limits()
    assert limits["i3en.large"].network == "up to 25 Gbit/s, of which 2.1 are there at all times"
    assert limits["i3en.6xlarge"].network == "25 Gbit/s at all times"
