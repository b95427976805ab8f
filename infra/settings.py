"""The stack's config as one frozen value: and its only reader. All that is wrong with it is told in one message.

Keys are those of Pulumi.<stack>.yaml, namespace `samebox:`; what a key means stands in Pulumi.yaml and in docs/aws.md.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import pulumi
from pulumi.runtime.config import CONFIG, get_config_env, get_config_secret_keys_env, is_config_secret
from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.alias_generators import to_camel

from infra import values
from infra.instance_types import INSTANCE_TYPES, InstanceType
from infra.values import set_command

Role = Literal["broker", "client", "metadata"]
NAMESPACE = "samebox"
ANY_ZONE = "any"
LONGEST_LIFE = timedelta(days=7)
UNSET = ("", "{}")  # what a key is by default in Pulumi.yaml that the stack's file has to set

SUBNET = r"^subnet-[0-9a-f]{8,17}$"
NETWORK_KEYS = ("vpcId", "subnetId", "reportSubnetId")
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,28}[a-z0-9]$")]


@dataclass(frozen=True)
class HostGroup:
    """The hosts of one role: how many, of which type, with which root volume (gp3)."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(alias_generator=to_camel, extra="forbid")

    count: Annotated[int, Field(ge=0, le=32)]
    instance_type: Annotated[str, AfterValidator(values.instance_type)]
    root_volume_gib: Annotated[int, Field(ge=20, le=16_384)]
    root_throughput_mib_per_s: Annotated[int, Field(ge=125, le=750)]  # 750 is what the 3,000 IOPS in the price carry

    @property
    def machine(self) -> InstanceType:
        """What the type is known to have."""
        return INSTANCE_TYPES[self.instance_type]


@dataclass(frozen=True)
class ClientGroup(HostGroup):
    """Without clients there is no load. What carries it, or what is measured, has its processors all the time."""

    count: Annotated[int, AfterValidator(values.at_least_one), Field(le=32)]
    instance_type: Annotated[str, AfterValidator(values.instance_type), AfterValidator(values.with_steady_cpu)]


@dataclass(frozen=True)
class BrokerGroup(ClientGroup):
    """Brokers keep their data on disks of the machine itself, which the vetting judges."""

    instance_type: Annotated[
        str,
        AfterValidator(values.instance_type),
        AfterValidator(values.with_steady_cpu),
        AfterValidator(values.with_instance_disks),
    ]


@dataclass(frozen=True)
class Settings:
    """Everything that the program is told from outside. Times are UTC, ISO 8601."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(alias_generator=to_camel, extra="forbid")

    region: Annotated[str, Field(pattern=r"^[a-z]{2}(-[a-z]+)+-\d$")]
    availability_zone: str
    ami: Annotated[str, Field(pattern=r"^ami-[0-9a-f]{8,17}$")]
    owner: Annotated[str, Field(pattern=r"^[\w.@+-]{1,64}$")]
    campaign: Name
    operator_cidr: Annotated[str, AfterValidator(values.operator_cidr)]
    identity_file: Annotated[Path, BeforeValidator(values.identity_file)]
    created: Annotated[str, AfterValidator(values.utc_time)]
    expires: Annotated[str, AfterValidator(values.utc_time)]
    host_key_seed: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] = field(repr=False)
    brokers: BrokerGroup
    clients: ClientGroup
    metadata: HostGroup
    report_instance_type: Annotated[str, AfterValidator(values.instance_type), AfterValidator(values.for_the_report)]
    report_instances: Annotated[int, Field(ge=1, le=64)]
    generations: Mapping[str, Annotated[int, Field(ge=1)]] = field(default_factory=dict)
    reserve_capacity: bool = False
    preset: str = ""  # read by the commands that compare the two files
    probes: str = ""  # read by the commands that vet
    vpc_id: Annotated[str, Field(pattern=r"^vpc-[0-9a-f]{8,17}$")] = ""
    subnet_id: Annotated[str, Field(pattern=SUBNET)] = ""
    report_subnet_id: Annotated[str, Field(pattern=SUBNET)] = ""
    aws_account: Annotated[str, AfterValidator(values.aws_account)] = ""

    @property
    def groups(self) -> Mapping[Role, HostGroup]:
        """The hosts by role, in inventory order."""
        return {"broker": self.brokers, "client": self.clients, "metadata": self.metadata}

    @property
    def side_by_side(self) -> Mapping[Role, HostGroup]:
        """The hosts of the cluster placement group: brokers and clients, whose traffic is measured, unless EC2 can't place their type.

        Metadata hosts need no nearness, and each host more makes it less likely that AWS has room for all of them.
        """
        placed: tuple[Role, ...] = ("broker", "client")
        return {role: self.groups[role] for role in placed if self.groups[role].machine.cluster_placement}

    @property
    def instance_types(self) -> tuple[str, ...]:
        """Those of all hosts and of the report's machines, which stand in the same zone, each once."""
        hosts = {group.instance_type for group in self.groups.values() if group.count}
        return tuple(sorted({*hosts, self.report_instance_type}))

    @property
    def architecture(self) -> str:
        """Of the processors of all hosts, which run with one image."""
        return self.brokers.machine.architecture

    @property
    def host_names(self) -> tuple[str, ...]:
        """broker-1, broker-2, ... in inventory order."""
        return tuple(f"{role}-{at}" for role, group in self.groups.items() for at in range(1, group.count + 1))

    @property
    def tags(self) -> Mapping[str, str]:
        """What everything that is made is marked with: `samebox sweep` finds leftovers by it, each stack's of a campaign by itself."""
        whose = {"project": NAMESPACE, "campaign": self.campaign, "stack": pulumi.get_stack(), "owner": self.owner}
        return {**whose, "expires": self.expires}

    @property
    def public_key(self) -> str:
        """The operator's public key line, which every host lets in."""
        return Path(f"{self.identity_file}.pub").read_text().strip()


def zone_pattern(region: str) -> str:
    """What the names of a region's own zones look like, as a regular expression: no local zone, no edge of a carrier's network."""
    return rf"{region}[a-z]"


def load_settings(*, now: datetime | None = None) -> Settings:
    """The config of the stack that is being deployed. Raises RunError, which Pulumi prints without a traceback."""
    configured = {**get_config_env(), **CONFIG.get()}
    prefix = f"{NAMESPACE}:"
    texts = {key.removeprefix(prefix): text for key, text in configured.items() if key.startswith(prefix)}
    handed_over = get_config_secret_keys_env()
    secret_keys = {key for key in texts if is_config_secret(f"{prefix}{key}") or f"{prefix}{key}" in handed_over}
    try:
        return parse_settings(texts, secret_keys=secret_keys, now=now or datetime.now(UTC))
    except InvalidSettings as error:
        problems = "\n".join(f"  {problem}" for problem in error.problems)
        raise pulumi.RunError(
            f"Pulumi.{pulumi.get_stack()}.yaml can't be used; nothing was changed.\n{problems}"
        ) from None


class InvalidSettings(ValueError):
    """The config is wrong: one sentence for every problem."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = tuple(problems)


def parse_settings(texts: Mapping[str, str], *, secret_keys: Collection[str], now: datetime) -> Settings:
    """Config values as Pulumi hands them out (text; JSON where it is a table). Raises InvalidSettings."""
    texts = {key: text for key, text in texts.items() if text not in UNSET}
    problems = []
    if "hostKeySeed" in texts and "hostKeySeed" not in secret_keys:
        problems.append(
            f"samebox:hostKeySeed is stored in plain text. Make a new one: {set_command('hostKeySeed', now)}"
        )
    try:
        settings = TypeAdapter(Settings).validate_python({key: _structured(text) for key, text in texts.items()})
    except ValidationError as error:
        problems += [_sentence(problem, now) for problem in error.errors(include_url=False)]
        raise InvalidSettings(problems) from None
    problems += _contradictions(settings, now)
    if problems:
        raise InvalidSettings(problems)
    return settings


def _structured(text: str) -> Any:
    """A table as a mapping, everything else as the text that it is."""
    if not text.lstrip().startswith(("{", "[")):
        return text
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def _sentence(problem: Any, now: datetime) -> str:
    parts = [str(part) for part in problem["loc"]]
    key = ".".join(parts)
    if problem["type"] == "missing":
        return f"samebox:{key} is missing. Set it: {set_command(key, now)}"
    if problem["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        valid = sorted(to_camel(each.name) for each in fields(Settings if len(parts) == 1 else HostGroup))
        close = difflib.get_close_matches(parts[-1], valid, n=1)
        guess = f" Did you mean {close[0]!r}?" if close else ""
        return f"samebox:{key} is unknown.{guess} Valid keys: {', '.join(valid)}."
    message = str(problem["msg"]).removeprefix("Value error, ").removesuffix(".")
    if problem["type"] == "string_pattern_mismatch":
        message = "is not of the form that this key takes"
    given = "" if key == "hostKeySeed" else f" = {problem['input']!r}"
    return f"samebox:{key}{given}: {message[:1].lower()}{message[1:]}. Set it: {set_command(key, now)}"


def _contradictions(settings: Settings, now: datetime) -> Iterator[str]:
    """What is wrong with values that are right one by one."""
    zone = settings.availability_zone
    if zone != ANY_ZONE and not re.fullmatch(zone_pattern(settings.region), zone):
        yield (
            f"samebox:availabilityZone {zone} isn't a zone of region {settings.region}, nor {ANY_ZONE}, which means the first"
            f" that has all types. Set it: {set_command('availabilityZone', now)}"
        )
    unknown = sorted(set(settings.generations) - set(settings.host_names))
    if unknown:
        yield f"samebox:generations names {', '.join(unknown)}; the hosts are {', '.join(settings.host_names)}."
    yield from _network_problems(settings, now)
    yield from _processor_problems(settings)
    yield from _time_problems(settings, now)


def _network_problems(settings: Settings, now: datetime) -> Iterator[str]:
    """An existing network is named in full, and its zone with it."""
    given = dict(zip(NETWORK_KEYS, (settings.vpc_id, settings.subnet_id, settings.report_subnet_id), strict=True))
    if not any(given.values()):
        return
    for key, value in given.items():
        if not value:
            yield (
                f"samebox:{key} is missing: {', '.join(NETWORK_KEYS)} must be set together, or not at all."
                f" Set it: {set_command(key, now)}"
            )
    if settings.availability_zone == ANY_ZONE:
        yield (
            f"samebox:availabilityZone is {ANY_ZONE}, but an existing subnet is in one zone: name that zone."
            f" Set it: {set_command('availabilityZone', now)}"
        )


def _processor_problems(settings: Settings) -> Iterator[str]:
    """One image serves all hosts; the report's cluster has its own."""
    wanted = settings.architecture
    alike = dict.fromkeys(
        known.name.partition(".")[0] for known in INSTANCE_TYPES.values() if known.architecture == wanted
    )
    for key, group in (("clients", settings.clients), ("metadata", settings.metadata)):
        if group.count and group.machine.architecture != wanted:
            yield (
                f"samebox:{key}.instanceType {group.instance_type} is {group.machine.architecture}, samebox:brokers.instanceType "
                f"{settings.brokers.instance_type} {wanted}, and samebox:ami is one image for all hosts. Families of {wanted}: "
                f"{', '.join(alike)}. Set it: pulumi config set --path samebox:{key}.instanceType TYPE"
            )


def _time_problems(settings: Settings, now: datetime) -> Iterator[str]:
    created, expires = (datetime.fromisoformat(text) for text in (settings.created, settings.expires))
    said = f"samebox:expires {settings.expires}"
    if expires <= now:
        yield f"{said} is in the past. Set when the hosts should end: {set_command('expires', now)}"
    elif expires > now + LONGEST_LIFE:
        yield (
            f"{said} is more than {LONGEST_LIFE.days} days ahead: forgotten hosts cost money."
            f" Set a nearer time (`samebox extend` moves it later): {set_command('expires', now)}"
        )
    elif created >= expires:
        yield f"samebox:created {settings.created} isn't before {said}. Set it: {set_command('created', now)}"
