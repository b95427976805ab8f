"""What to type to set a key of the stack's config, as a command that can be copied. It sets nothing."""

from __future__ import annotations

from datetime import datetime, timedelta

EXAMPLES = {
    "ami": "ami-0123456789abcdef0",
    "availabilityZone": "us-west-2a",
    "awsAccount": "123456789012",
    "brokers": "--path {key}.count 3",
    "campaign": "durability-1",
    "clients": "--path {key}.count 4",
    "count": "3",
    "hostKeySeed": '--secret {key} "$(openssl rand -hex 32)"',
    "identityFile": "~/.ssh/id_ed25519",
    "instanceType": "i3en.6xlarge",
    "metadata": "--path {key}.count 3",
    "operatorCidr": "203.0.113.7/32",
    "owner": "your-name",
    "preset": "smoke",
    "region": "us-west-2",
    "reportInstanceType": "m5.2xlarge",
    "reportInstances": "3",
    "reportSubnetId": "subnet-0fedcba9876543210",
    "reserveCapacity": "true",
    "rootThroughputMibPerS": "250",
    "rootVolumeGib": "64",
    "subnetId": "subnet-0123456789abcdef0",
    "vpcId": "vpc-0123456789abcdef0",
}
EXAMPLE_LIFE = timedelta(hours=8)


def set_command(key: str, now: datetime) -> str:
    """For a key (brokers), or one inside a table (brokers.count); times are such that the command would work now."""
    times = {"created": now, "expires": now + EXAMPLE_LIFE}
    full, name = f"samebox:{key}", key.rpartition(".")[2]
    example = f"{times[name]:%Y-%m-%dT%H:%M:%SZ}" if name in times else EXAMPLES.get(name, "1")
    if "{key}" in example:
        return f"pulumi config set {example.format(key=full)}"
    return f"pulumi config set {'--path ' if '.' in key else ''}{full} {example}"
