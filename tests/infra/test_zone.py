"""The zone that a testbed stands in: the one that is named, or the first that has all types, which then stays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from provisioning.testbeds.aws.rehearsal.cloud.kinds import Aws
from provisioning.testbeds.aws.rehearsal.cloud.local_cloud import local_cloud
from provisioning.testbeds.aws.rehearsal.cloud.lookups import LOOKUPS
from provisioning.testbeds.aws.rehearsal.cloud.schema import lookup_failures
from provisioning.testbeds.aws.rehearsal.cloud.things import client
from tests.infra.project import NewProject
from tests.infra.recorded_program import Recording, preset, record

OFFERINGS = "aws:ec2/getInstanceTypeOfferings:getInstanceTypeOfferings"
EVERYWHERE = ["us-west-2b", "us-west-2c", "us-west-2a"]
OFFERED = {
    "i3en.large": ["us-west-2d", "us-west-2c", "us-west-2b"],
    "m5n.large": EVERYWHERE,
    "m5.xlarge": EVERYWHERE,
    "t3.medium": [*EVERYWHERE, "us-west-2-lax-1a"],
}


def subnets(recording: Recording) -> dict[str, Any]:
    """Zone and options of each subnet."""
    return {
        name: (each.inputs["availabilityZone"], each.options.get("ignoreChanges"))
        for name, each in recording.of_type("ec2/subnet:Subnet").items()
    }


def test_a_zone_that_is_named_is_taken_and_may_be_changed(tmp_path: Path) -> None:
    """Nobody is asked what it offers; the report's machines stand in the same one."""
    recording = record(preset("smoke", tmp_path))
    assert subnets(recording) == {"samebox-hosts": ("us-west-2a", None), "samebox-report": ("us-west-2a", None)}
    assert recording.outputs["availabilityZone"] == "us-west-2a"


def test_any_is_the_first_zone_that_has_all_types_and_stays(tmp_path: Path) -> None:
    """Of the region's own zones; the subnets of a stack that is up keep theirs, whatever another zone offers later."""
    recording = record(preset("smoke", tmp_path, availabilityZone="any"), offered=OFFERED)
    assert recording.error == ""
    assert subnets(recording) == {
        "samebox-hosts": ("us-west-2b", ["availabilityZone"]),
        "samebox-report": ("us-west-2b", None),
    }
    assert recording.outputs["availabilityZone"] == "us-west-2b"


def test_where_no_zone_has_all_types_it_is_said_which_has_which(tmp_path: Path) -> None:
    """Before anything is registered."""
    recording = record(
        preset("smoke", tmp_path, availabilityZone="any"), offered={**OFFERED, "i3en.large": ["us-west-2d"]}
    )
    assert "no zone of us-west-2 offers all types" in recording.error
    assert "i3en.large: us-west-2d" in recording.error and "m5n.large: us-west-2a, us-west-2b" in recording.error
    assert [each.type for each in recording.resources] == ["pulumi:providers:aws"]


@pytest.mark.integration
def test_the_local_cloud_says_which_zones_have_a_type(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the real provider's lookup does: lists of equal length."""
    arguments = {
        "locationType": "availability-zone",
        "filters": [{"name": "instance-type", "values": ["i3en.large"]}],
    }
    assert lookup_failures(OFFERINGS, arguments) == []
    with local_cloud(tmp_path / "cloud", hosts=False) as cloud:
        for name, value in cloud.environment.items():
            monkeypatch.setenv(name, value)
        found = LOOKUPS[OFFERINGS](Aws(cloud.region, {}), arguments)
    assert "us-west-2a" in found["locations"] and set(found["instanceTypes"]) == {"i3en.large"}
    assert len(found["locations"]) == len(found["instanceTypes"]) == len(found["locationTypes"])


@pytest.mark.integration
@pytest.mark.infra
def test_a_stack_whose_zone_was_chosen_stays_there(new_project: NewProject) -> None:
    """A change of tags moves nothing, though the program would choose another zone for a new stack."""
    project = new_project()
    project.set("availabilityZone", "us-west-2c")
    project.up()
    project.set("availabilityZone", "any")
    project.set("owner", "somebody")
    assert "replace" not in project.up().changes
    assert project.outputs()["availabilityZone"] == "us-west-2c"
    placed = client(project.cloud, "ec2").describe_instances()["Reservations"]
    zones = {each["Placement"]["AvailabilityZone"] for found in placed for each in found["Instances"]}
    assert zones == {"us-west-2c"}
    project.destroy()
