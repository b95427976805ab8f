"""What the config file of a stack, or the preset it was made from, says it will bring up, as far as it costs money.

Whether the config is sound is judged by the Pulumi program's own reader in infra/; here only what has a price is looked at.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BeforeValidator, Field

from provisioning.document import build, read_text
from provisioning.errors import InvalidInput
from provisioning.hosts.inventory import Role

PROJECT_FILE = "Pulumi.yaml"
NAMESPACE = "samebox:"
PRESETS = Path("infra/presets")
ANY_ZONE = "any"  # what samebox:availabilityZone says where each zone will do
EMPTY: tuple[object, ...] = ("", {})  # the default of a key that a stack has to set
ROLE_KEYS: dict[str, Role] = {"brokers": "broker", "clients": "client", "metadata": "metadata"}


def _a_number(value: object) -> object:
    """Pulumi may keep a number as a text; of a truth value pydantic would make 1."""
    if isinstance(value, bool):
        raise ValueError("a number is needed")
    return value


@dataclass(frozen=True)
class Hosts:
    """The hosts of one role; with a `count` of 0 the rest says nothing."""

    count: Annotated[int, BeforeValidator(_a_number), Field(ge=0)]
    instance_type: Annotated[str, Field(alias="instanceType")]
    root_volume_gib: Annotated[int, Field(alias="rootVolumeGib", ge=1)]
    root_throughput_mib_per_s: Annotated[int, Field(alias="rootThroughputMibPerS", ge=1)]


NO_HOSTS = {"count": 0, "instanceType": "none", "rootVolumeGib": 1, "rootThroughputMibPerS": 125}


@dataclass(frozen=True)
class Shape:
    """A stack's region, its hosts by role, the EMR cluster of its report, whether capacity for brokers and clients is reserved.

    `probes` names the profile by which all of them are vetted; empty, each type has its own.
    """

    region: str
    brokers: Hosts
    clients: Hosts
    metadata: Hosts
    report_instance_type: Annotated[str, Field(alias="reportInstanceType")]
    report_instances: Annotated[int, Field(alias="reportInstances", ge=1)]
    reserve_capacity: Annotated[bool, Field(alias="reserveCapacity")] = False
    probes: str = ""

    def by_role(self) -> dict[Role, Hosts]:
        """The roles that have hosts."""
        return {role: hosts for key, role in ROLE_KEYS.items() if (hosts := getattr(self, key)).count}


def own_file(directory: Path, stack: str) -> Path:
    """The config file of a stack, given by its name, with or without an organisation, or as a path.

    Raises InvalidInput naming the stacks there are, and the command that makes one from a preset.
    """
    path = Path(stack) if stack.endswith((".yaml", ".yml")) else directory / f"Pulumi.{stack.rpartition('/')[2]}.yaml"
    if not path.is_file():
        names = ", ".join(map(stack_name, _own_files(directory))) or "none"
        raise InvalidInput(
            f"{path}: no such file. Stacks with a config file: {names}.",
            next_step=_how_to_make(directory, path.name),
        )
    return path


def stack_file(directory: Path, stack: str) -> Path:
    """What is to be known of a stack without standing it up: its own config file, or else the preset of its name.

    Raises InvalidInput as `own_file` does.
    """
    preset = directory / PRESETS / f"{stack}.yaml"
    if preset.is_file() and not (directory / f"Pulumi.{stack}.yaml").is_file():
        return preset
    return own_file(directory, stack)


def stacks(directory: Path) -> tuple[str, ...]:
    """The names of the stacks that have a config file in `directory`, and of the presets."""
    return tuple(sorted({stack_name(path) for path in (*_own_files(directory), *preset_files(directory))}))


def preset_files(directory: Path) -> tuple[Path, ...]:
    """The committed templates of config files."""
    return tuple(sorted((directory / PRESETS).glob("*.yaml")))


def stack_name(path: Path) -> str:
    """sn2022 for .../Pulumi.sn2022.yaml, and for the preset .../sn2022.yaml"""
    return path.stem.removeprefix("Pulumi.")


def _own_files(directory: Path) -> tuple[Path, ...]:
    return tuple(sorted(directory.glob("Pulumi.*.yaml")))


def _how_to_make(directory: Path, name: str) -> str:
    presets = preset_files(directory)
    if not presets:
        return "Name one of them with --stack, or make one with `pulumi stack init NAME`."
    wanted = stack_name(Path(name))
    alike = next((path for path in presets if path.stem == wanted), presets[0])
    return (
        f"`cp {PRESETS}/{alike.name} {name}` makes it from a preset ({', '.join(path.stem for path in presets)}); "
        "what it still lacks, `pulumi preview` names with the command that sets it."
    )


def read_stack_config(path: Path) -> dict[str, Any]:
    """The config under samebox's namespace, keys without it, with the project's defaults. Raises InvalidInput."""
    text = read_text(path)
    try:
        document = yaml.safe_load(text)
    except RecursionError:
        raise InvalidInput(f"{path}: nested too deeply.") from None
    except (yaml.YAMLError, ValueError) as error:  # PyYAML refuses the 30th of February by a ValueError of Python's own
        raise InvalidInput(f"{path}: not valid YAML: {error}") from None
    config = document.get("config") if isinstance(document, dict) else None
    if not isinstance(config, dict):
        raise InvalidInput(
            f"{path}: key 'config' is missing.",
            next_step=f"Set the stack's config, e.g. `pulumi config set samebox:region us-west-2 --stack {stack_name(path)}`.",
        )
    own = {str(key).removeprefix(NAMESPACE): value for key, value in config.items() if str(key).startswith(NAMESPACE)}
    return {**_project_defaults(path.parent / PROJECT_FILE), **own}


def _project_defaults(path: Path) -> dict[str, Any]:
    """What Pulumi takes for a key that the stack's file doesn't set; an empty default stands for none."""
    if not path.is_file():
        return {}
    try:
        declared = (yaml.safe_load(path.read_text()) or {}).get("config") or {}
        # a key may be declared, or simply have a value; one with a colon is a provider's (aws:profile)
        defaults = {
            str(key): entry.get("default", "") if isinstance(entry, dict) else entry
            for key, entry in declared.items()
            if ":" not in str(key)
        }
    except (yaml.YAMLError, AttributeError) as error:
        raise InvalidInput(
            f"{path}: not this project's file: {error!r}.", next_step="Get it as it was committed."
        ) from None
    return {key: value for key, value in defaults.items() if value not in EMPTY}


def load_shape(path: Path) -> Shape:
    """Reads a stack's shape. Raises InvalidInput naming file and key."""
    config = read_stack_config(path)
    for key in ROLE_KEYS:
        hosts = config.get(key)
        if isinstance(hosts, dict) and hosts.get("count") in (0, "0"):
            config[key] = NO_HOSTS | hosts
    try:
        return build(Shape, config, where=str(path), more_keys=True)
    except InvalidInput as error:
        name = stack_name(path)
        raise InvalidInput(
            str(error),
            next_step=f"`pulumi config set --path samebox:KEY VALUE --stack {name}` sets one; the presets in {PRESETS} show all.",
        ) from None


# what a copy has of its own by its nature
OWN = ("campaign",)


def differences(directory: Path, file: Path) -> tuple[str, ...]:
    """A phrase for every key that `file` sets otherwise than its preset; none where it names no preset, or is one.

    Shows what the operator has changed, and pins of the preset that were renewed after the copy. Raises InvalidInput.
    """
    own = read_stack_config(file)
    preset = next((path for path in preset_files(directory) if path.stem == own.get("preset")), None)
    if preset is None or preset.samefile(file):
        return ()
    return tuple(
        f"{key} {_shown(own.get(key))} ({PRESETS / preset.name}: {_shown(value)})"
        for key, value in read_stack_config(preset).items()
        if key not in OWN and _shown(own.get(key)) != _shown(value)
    )


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(f"{key}={each}" for key, each in sorted(value.items()))
    return "isn't set" if value is None else str(value)
