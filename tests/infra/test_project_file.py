"""Pulumi.yaml says what the program takes: every key with its type and default, and the version of Pulumi from which on it works."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_origin, get_type_hints

import pytest
import yaml
from pydantic.alias_generators import to_camel

from infra.preflight import required_version
from infra.settings import InvalidSettings, Settings, parse_settings
from provisioning.testbeds.aws import pulumi_command
from provisioning.testbeds.aws.rehearsal.engine import engine as test_engine
from provisioning.testbeds.aws.shape import load_shape, read_stack_config
from tests.infra.project import NewProject
from tests.infra.recorded_program import ROOT, preset, record, texts

DECLARED: Mapping[str, Any] = yaml.safe_load((ROOT / "Pulumi.yaml").read_text())["config"]
OPTIONAL = {"generations", "preset", "probes", "awsAccount", "vpcId", "subnetId", "reportSubnetId"}
PYTHON = {"string": str, "integer": int, "boolean": bool, "object": dict}
KINDS: Mapping[Any, str] = {int: "integer", bool: "boolean"}


def kind_of(annotation: Any) -> str:
    """Pulumi's name for a setting's type."""
    if is_dataclass(annotation) or get_origin(annotation) is Mapping:
        return "object"
    return KINDS.get(annotation, "string")


def test_every_key_of_the_settings_is_declared() -> None:
    """By name and type, each with a description and a default of that type: without one Pulumi refuses to destroy a stack."""
    hints = get_type_hints(Settings)
    assert {key: entry["type"] for key, entry in DECLARED.items()} == {
        to_camel(field.name): kind_of(hints[field.name]) for field in fields(Settings)
    }
    for key, entry in DECLARED.items():
        assert entry.keys() == {"type", "default", "description"}, key  # an unquoted comma makes more of them
        assert type(entry["default"]) is PYTHON[entry["type"]], key


def test_a_default_is_one_that_the_settings_take(tmp_path: Path) -> None:
    """And an empty one is a key that is missing, which is said with the command that sets it."""
    everything = texts({key: entry["default"] for key, entry in DECLARED.items()})
    unset = {key for key, text in everything.items() if text in ("", "{}")} - OPTIONAL
    given = {key: text for key, text in texts(preset("smoke", tmp_path)).items() if key in unset}
    settings = parse_settings({**everything, **given}, secret_keys={"hostKeySeed"}, now=datetime.now(UTC))
    assert (settings.region, settings.report_instances, dict(settings.generations)) == ("us-west-2", 2, {})
    with pytest.raises(InvalidSettings) as refused:
        parse_settings(everything, secret_keys=(), now=datetime.now(UTC))
    found = [re.match(r"samebox:(\w+) is missing\. Set it: pulumi config set", each) for each in refused.value.problems]
    named = {each and each[1] for each in found}
    assert named == unset


def test_the_cost_knows_the_defaults(tmp_path: Path) -> None:
    """What Pulumi takes for a key that a stack's file leaves out is what it costs."""
    added = "  aws:profile: work\n"  # a provider's key, which Pulumi lets a project set for all stacks
    (tmp_path / "Pulumi.yaml").write_text((ROOT / "Pulumi.yaml").read_text() + added)
    stack = tmp_path / "Pulumi.mine.yaml"
    keys = ("brokers", "clients", "metadata")
    own = {f"samebox:{key}": value for key, value in preset("smoke", tmp_path).items() if key in keys}
    stack.write_text(yaml.safe_dump({"config": {**own, "samebox:region": "us-east-1"}}))
    shape = load_shape(stack)
    assert (shape.region, shape.report_instance_type, shape.report_instances) == ("us-east-1", "m5.xlarge", 2)
    assert "ami" not in read_stack_config(stack)


def test_the_required_version_is_the_same_everywhere() -> None:
    """The project file's, the program's, the command's, the tests', the SDK's and the guide's."""
    oldest = ".".join(map(str, pulumi_command.OLDEST))
    assert required_version() == f">={oldest}"
    assert test_engine.OLDEST == pulumi_command.OLDEST
    (sdk,) = (
        each
        for each in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
        if re.match(r"pulumi\W", each) and "aws" not in each
    )
    major_minor = oldest.removesuffix(".0")
    assert sdk == f"pulumi>={major_minor}"
    assert f"- **Pulumi** {major_minor} or newer" in (ROOT / "docs/aws.md").read_text()


def test_an_engine_that_is_too_old_is_refused(tmp_path: Path) -> None:
    """Before anything is registered: it would leave a host alone whose generation is raised, without a word."""
    recording = record(preset("smoke", tmp_path), old_engine=True)
    assert recording.error.startswith("this program needs Pulumi >=3.226.0; install a newer one")
    assert not recording.resources


@pytest.mark.integration
@pytest.mark.infra
def test_the_engine_takes_the_declaration(new_project: NewProject) -> None:
    """Tables and the secret are set and read as without it; what is missing, of a wrong type or too new for the engine is refused."""
    project = new_project()
    project.set("brokers.count", 4)
    project.set("generations.broker-4", 3)
    assert project.pulumi("preview").output.count("aws:ec2:Instance ") == 6
    shown = project.pulumi("config", "--json").output
    assert '"count":4' in shown.replace(" ", "") and "5a5a" not in shown

    project.pulumi("config", "rm", "samebox:owner")
    project.pulumi("config", "rm", "samebox:clients")
    refused = project.pulumi("preview", exit_status=None)
    assert "samebox:owner is missing. Set it: pulumi config set samebox:owner" in refused.output
    assert "samebox:clients is missing" in refused.output and "Traceback" not in refused.output
    project.destroy()

    project.set("reportInstances", "two")
    refused = project.pulumi("preview", exit_status=None)
    assert refused.exit_status != 0 and "reportInstances" in refused.output and "integer" in refused.output

    file = project.folder / "Pulumi.yaml"
    file.write_text(file.read_text().replace(required_version(), ">=4.0.0"))
    refused = project.pulumi("preview", exit_status=None)
    assert refused.exit_status != 0 and ">=4.0.0" in refused.output
