"""Presets are templates: priced as they are, copied for a stack of one's own, and told apart from the copy afterwards."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from bench.checkout import CHECKOUT
from bench.cli import cost as command
from provisioning.errors import InvalidInput
from provisioning.testbeds.aws.shape import (
    differences,
    load_shape,
    own_file,
    preset_files,
    read_stack_config,
    stack_file,
    stacks,
)

PRESETS = ("smoke", "sn2020", "sn2022", "tiny")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The project as it is committed: presets, and no stack of one's own."""
    shutil.copy(CHECKOUT / "Pulumi.yaml", tmp_path)
    shutil.copytree(CHECKOUT / "infra" / "presets", tmp_path / "infra" / "presets")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def edit(file: Path, key: str, value: object) -> None:
    """Sets one key of a stack's file or a preset."""
    document = yaml.safe_load(file.read_text())
    document["config"][f"samebox:{key}"] = value
    file.write_text(yaml.safe_dump(document))


def cost(*arguments: str) -> str:
    """What `samebox cost` says."""
    result = CliRunner().invoke(command.cost, arguments, standalone_mode=False)
    assert result.exception is None, result.exception
    return result.output


def test_a_preset_names_itself_and_leaves_out_the_operator() -> None:
    """A copy knows what it was made from; nobody's name, network, times or keys are committed."""
    for file in preset_files(CHECKOUT):
        config = read_stack_config(file)
        assert config["preset"] == config["campaign"] == file.stem
        assert not {"owner", "operatorCidr", "identityFile", "created", "expires", "hostKeySeed", "generations"} & set(
            config
        )
    assert [file.stem for file in preset_files(CHECKOUT)] == list(PRESETS)


def test_a_preset_has_its_price_before_anything_is_made_of_it(project: Path) -> None:
    """By its name; once there is a stack of that name, its own file counts."""
    assert stacks(project) == PRESETS
    assert "smoke in us-west-2" in cost("--stack", "smoke") and "sn2022" in cost()
    edit(Path(shutil.copy("infra/presets/smoke.yaml", "Pulumi.smoke.yaml")), "reportInstances", 5)
    assert load_shape(stack_file(project, "smoke")).report_instances == 5
    assert load_shape(stack_file(project, "org/samebox/smoke")).report_instances == 5
    assert stacks(project) == PRESETS


def test_without_a_file_of_its_own_a_stack_is_refused_with_the_command_that_makes_it(project: Path) -> None:
    """A preset can't be stood up as it is."""
    with pytest.raises(
        InvalidInput, match=r"Pulumi\.smoke\.yaml: no such file\. Stacks with a config file: none"
    ) as refused:
        own_file(project, "smoke")
    assert "`cp infra/presets/smoke.yaml Pulumi.smoke.yaml` makes it from a preset" in refused.value.next_step
    with pytest.raises(InvalidInput) as refused:
        stack_file(project, "mine")
    assert "`cp infra/presets/smoke.yaml Pulumi.mine.yaml`" in refused.value.next_step


def test_a_preset_that_was_renewed_is_told(project: Path) -> None:
    """Key by key, with both values; a copy that is as its preset, and a preset itself, say nothing."""
    mine = Path(shutil.copy("infra/presets/smoke.yaml", "Pulumi.mine.yaml"))
    edit(mine, "campaign", "mine")
    edit(mine, "owner", "me")
    assert differences(project, mine) == () == differences(project, project / "infra/presets/smoke.yaml")
    assert "isn't as its preset is" not in cost("--stack", "mine")
    edit(project / "infra/presets/smoke.yaml", "ami", "ami-0123456789abcdef0")
    assert differences(project, mine) == (
        "ami ami-0d53cc9bd365ad65b (infra/presets/smoke.yaml: ami-0123456789abcdef0)",
    )
    assert "Pulumi.mine.yaml isn't as its preset is: ami ami-0d53cc9bd365ad65b (infra/presets" in cost(
        "--stack", "mine"
    )
