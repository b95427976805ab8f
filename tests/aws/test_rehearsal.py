"""What makes a command part of a rehearsal, and what a rehearsal takes over of the operator's."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from bench.cli.main import samebox
from bench.cli.rehearse import rehearse
from bench.cli.target import read_thresholds, stack_kind
from provisioning.errors import InvalidInput
from provisioning.testbeds.aws.rehearsal.mark import NOTICE, VARIABLE
from provisioning.testbeds.aws.rehearsal.project import write_stack
from provisioning.testbeds.aws.shape import read_stack_config
from provisioning.vetting import load_thresholds
from provisioning.vetting.rehearsed import PROBES

CHECKOUT = Path(__file__).resolve().parents[2]
PRESET = CHECKOUT / "infra/presets/smoke.yaml"


def test_a_stack_is_one_of_aws_unless_it_is_rehearsed(monkeypatch: pytest.MonkeyPatch) -> None:
    """By one word in the environment: kind of testbed, thresholds, and a line before every command's own."""
    monkeypatch.delenv(VARIABLE, raising=False)
    assert (stack_kind(), read_thresholds()) == ("aws", load_thresholds())
    assert NOTICE not in CliRunner().invoke(samebox, ["cost", "--stack", "smoke"]).stderr
    monkeypatch.setenv(VARIABLE, "here")
    assert (stack_kind(), read_thresholds().profile_of("i3en.large")) == ("rehearsal", PROBES)
    ran = CliRunner().invoke(samebox, ["cost", "--stack", "smoke"])
    assert (ran.exit_code, NOTICE in ran.stderr, NOTICE in ran.stdout) == (0, True, False)


def test_of_a_stack_of_ones_own_its_testbed_is_taken_over(tmp_path: Path) -> None:
    """Sizes and who one is; no secret, no time, no generation of the real one. What isn't there yet is filled in."""
    own, written = tmp_path / "Pulumi.mine.yaml", tmp_path / "rehearsed.yaml"
    config = {
        **yaml.safe_load(PRESET.read_text())["config"],
        "samebox:owner": "somebody",
        "samebox:identityFile": "~/.ssh/key",
        "samebox:expires": "2026-01-01T00:00:00Z",
        "samebox:hostKeySeed": {"secure": "v1:abc"},
        "samebox:generations": {"broker-1": 2},
        "aws:profile": "production",
    }
    own.write_text(yaml.safe_dump({"encryptionsalt": "v1:salt", "config": config}))
    write_stack(written, own, tmp_path / "key")
    assert "secure" not in written.read_text() and "production" not in written.read_text()
    taken = read_stack_config(written)
    assert (taken["owner"], taken["identityFile"], taken["operatorCidr"]) == (
        "somebody",
        "~/.ssh/key",
        "203.0.113.7/32",
    )
    assert not {"expires", "hostKeySeed", "generations"} & taken.keys()
    assert taken["brokers"] == read_stack_config(PRESET)["brokers"]
    write_stack(written, PRESET, tmp_path / "key")
    assert read_stack_config(written)["identityFile"] == str(tmp_path / "key")


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ([], "what is to be rehearsed"),
        (["campaigns/demo.toml", "--shell"], "what is to be rehearsed"),
        (["campaigns/demo.toml", "--stack", "nowhere"], "Pulumi.nowhere.yaml: no such file"),
        (["campaigns/nothing.toml"], "no such file"),
        (["campaigns/demo.toml", "--scale", "huge"], "unknown scale 'huge'"),
    ],
)
def test_what_cannot_be_rehearsed_is_refused_at_once(
    typed: list[str], says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything is built or started."""
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.chdir(CHECKOUT)
    with pytest.raises(InvalidInput, match=says):
        rehearse.main(typed, standalone_mode=False)


def test_a_rehearsal_within_a_rehearsal_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its AWS would be the outer one's."""
    monkeypatch.setenv(VARIABLE, "here")
    with pytest.raises(InvalidInput, match="a rehearsal already"):
        rehearse.main(["campaigns/demo.toml"], standalone_mode=False)
