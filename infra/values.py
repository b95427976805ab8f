"""What one config value must be, key by key: ValueError says why it isn't, and what would be right. And the command that sets it."""

from __future__ import annotations

import difflib
import ipaddress
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

from infra.instance_types import INSTANCE_TYPES, REPORT_TYPES

PROJECT_FOLDER = Path(__file__).resolve().parents[1]
WIDEST_OPERATOR_PREFIX = 16
# what EC2's ImportKeyPair takes: https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_ImportKeyPair.html
IMPORTED_KEY_TYPES = ("ssh-ed25519", "ssh-rsa")
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


def instance_type(name: str) -> str:
    """One of the known types."""
    if name not in INSTANCE_TYPES:
        close = difflib.get_close_matches(name, INSTANCE_TYPES, n=1)
        guess = f" Did you mean {close[0]!r}?" if close else ""
        raise ValueError(f"unknown instance type.{guess} Valid ones: {', '.join(INSTANCE_TYPES)}")
    return name


def with_steady_cpu(name: str) -> str:
    """A known type that has its processors all the time."""
    if INSTANCE_TYPES[name].burstable:
        steady = dict.fromkeys(each.partition(".")[0] for each, known in INSTANCE_TYPES.items() if not known.burstable)
        raise ValueError(
            "this type is burstable: its processors are its own for a share of the time, and what is taken away would be measured "
            f"as latency. Families that aren't: {', '.join(steady)}"
        )
    return name


def with_instance_disks(name: str) -> str:
    """A known type that has NVMe disks of its own."""
    if not INSTANCE_TYPES[name].instance_disks:
        valid = ", ".join(known.name for known in INSTANCE_TYPES.values() if known.instance_disks)
        raise ValueError(f"this type has no disks of its own. Valid ones: {valid}")
    return name


def for_the_report(name: str) -> str:
    """A known type of which EMR makes clusters, for a price that is known, and on which driver and executors have room."""
    if name not in REPORT_TYPES:
        raise ValueError(
            "what EMR charges for a cluster of it, or how much room that has for driver and executors, isn't known here."
            f" Valid ones: {', '.join(REPORT_TYPES)}"
        )
    return name


def aws_account(text: str) -> str:
    """The number of an account, zeros in front included."""
    if not re.fullmatch(r"\d{12}", text):
        raise ValueError("an account's number has 12 digits, as `aws sts get-caller-identity` shows it")
    return text


def at_least_one(count: int) -> int:
    """A count that isn't zero or less."""
    if count < 1:
        raise ValueError("at least one is needed")
    return count


def operator_cidr(text: str) -> str:
    """An IPv4 network that is the operator's own, not half the internet."""
    advice = "give your own address, such as 203.0.113.7/32"
    try:
        network = ipaddress.ip_network(text)
    except ValueError as error:
        raise ValueError(f"not a network: {error}; {advice}") from None
    if network.prefixlen == 0:
        raise ValueError(f"this lets the whole internet try the hosts' SSH servers; {advice}")
    if network.version != 4:
        raise ValueError(f"the hosts have IPv4 addresses only; {advice}")
    if network.prefixlen < WIDEST_OPERATOR_PREFIX:
        raise ValueError(
            f"{network.num_addresses:,} addresses are too many (widest: /{WIDEST_OPERATOR_PREFIX}); {advice}"
        )
    return text


def utc_time(text: str) -> str:
    """A UTC time, in one form: 2026-11-21T20:00:00Z."""
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError:
        parsed = None
    if parsed is None or parsed.utcoffset() != timedelta(0):
        raise ValueError("not a UTC time in ISO 8601, such as 2026-11-21T20:00:00Z")
    return parsed.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def identity_file(text: str) -> Path:
    """A private key file whose public half lies beside it, as `<file>.pub`; relative to the project's folder."""
    path = PROJECT_FOLDER / Path(text).expanduser()
    public = Path(f"{path}.pub")
    if not path.is_file() or not public.is_file():
        missing = path if not path.is_file() else public
        raise ValueError(
            f"{missing} doesn't exist; make a pair by: ssh-keygen -t ed25519 -f {path}, or name one that you have"
        )
    line = re.match(r"((?:ssh|ecdsa|sk)-\S+) [A-Za-z0-9+/=]+", public.read_text())
    if line is None:
        raise ValueError(f"{public} doesn't hold a public key line; make it by: ssh-keygen -y -f {path} > {public}")
    if line[1] not in IMPORTED_KEY_TYPES:
        raise ValueError(
            f"{public} is a key of type {line[1]}; EC2 takes {' and '.join(IMPORTED_KEY_TYPES)} only."
            f" Make one: ssh-keygen -t ed25519 -f {path.with_name('samebox')}"
        )
    return path


def set_command(key: str, now: datetime) -> str:
    """For a key (brokers), or one inside a table (brokers.count); times are such that the command would work now."""
    times = {"created": now, "expires": now + EXAMPLE_LIFE}
    full, name = f"samebox:{key}", key.rpartition(".")[2]
    example = f"{times[name]:%Y-%m-%dT%H:%M:%SZ}" if name in times else EXAMPLES.get(name, "1")
    if "{key}" in example:
        return f"pulumi config set {example.format(key=full)}"
    return f"pulumi config set {'--path ' if '.' in key else ''}{full} {example}"
