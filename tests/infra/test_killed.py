"""The real Pulumi engine, killed, and its command killed: what is left, who knows of it, and how all of it goes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from provisioning.testbeds.aws.failures import StackFailed
from provisioning.testbeds.aws.rehearsal.cloud.local_cloud import CHECKOUT
from provisioning.testbeds.aws.rehearsal.cloud.things import buckets, instances, things
from provisioning.testbeds.aws.stack import Stack
from provisioning.testbeds.aws.update_record import UpdateRecord
from tests.cloud.faults import Faults
from tests.infra.project import NewProject, Project

pytestmark = [pytest.mark.integration, pytest.mark.infra]
WAIT_S = 300.0
QUIET_S = 3.0  # of a state that is written after each resource
HOSTS = 5
UP = """
import sys
from pathlib import Path
from provisioning.testbeds.aws.stack import Stack
from provisioning.testbeds.aws.update_record import UpdateRecord
Stack(sys.argv[1], Path.cwd(), record=UpdateRecord(Path(sys.argv[2]))).up(print)
"""


def await_true(condition: Callable[[], bool]) -> None:
    """Returns once the condition holds."""
    deadline = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.05)


def orphans(project: Project) -> set[str]:
    """Instances with the project's tag that the stack knows nothing of."""
    state = project.state()
    tagged = {each for each, tags in instances(project.cloud).items() if tags.get("project") == "samebox"}
    return {each for each in tagged if each not in state}


def await_written(project: Project) -> None:
    """Returns once the engine has written nothing for a while: killed while it writes its state, it leaves one that nobody can read."""
    state = Path(project.environment["PULUMI_BACKEND_URL"].removeprefix("file://")) / ".pulumi" / "stacks"

    def quiet() -> bool:
        try:
            return time.time() - max(file.stat().st_mtime for file in state.rglob("*")) > QUIET_S
        except FileNotFoundError:  # it is being written
            return False

    await_true(quiet)


def test_a_killed_replacement_leaves_an_orphan_that_the_sweep_takes(new_project: NewProject) -> None:
    """Killed while an instance was being made, the engine forgets it: the sweep takes it, and nothing of the running testbed."""
    project = new_project()
    before = things(project.cloud)
    project.up()
    testbed = set(instances(project.cloud))
    project.cloud.inject(Faults(launch_delay_s={"broker-2": WAIT_S}))
    project.set("generations.broker-2", 2)
    process = project.start("up", "--yes", "--skip-preview")
    await_true(lambda: project.cloud.launches_slowly("broker-2"))
    await_written(project)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=WAIT_S)
    project.cloud.inject(Faults())
    await_true(lambda: len(instances(project.cloud)) == HOSTS + 1)

    sweep = ("sweep", "--stack", project.preset, "--orphans")
    refused = project.samebox(*sweep, "--delete", "--yes")
    assert "is locked" in refused.output, "the engine might still be at work"
    project.pulumi("cancel", "--yes", project.preset)
    orphan = orphans(project)
    assert len(orphan) == 1
    assert instances(project.cloud)[next(iter(orphan))]["host"] == "broker-2"
    listed = json.loads(project.samebox(*sweep, "--json").output)
    assert {each["id"] for each in listed["left"] if each["kind"] == "instance"} == orphan
    assert {each["kind"] for each in listed["left"]} <= {"instance", "volume", "network interface"}
    assert project.samebox(*sweep, "--delete", "--yes").exit_status == 0
    assert set(instances(project.cloud)) == testbed

    project.up()
    assert project.up().changes == {}
    project.destroy()
    assert things(project.cloud) - before == buckets(project.cloud)


def test_a_killed_first_up_goes_in_the_documented_order(new_project: NewProject) -> None:
    """What the engine had launched and not recorded stops a destroy; cancelled, swept, destroyed, swept: nothing."""
    project = new_project()
    before = things(project.cloud)
    project.cloud.inject(Faults(launch_delay_s={"broker-2": WAIT_S}))
    process = project.start("up", "--yes", "--skip-preview")
    await_true(lambda: project.cloud.launches_slowly("broker-2"))
    await_written(project)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=WAIT_S)
    project.cloud.inject(Faults())
    await_true(lambda: bool(orphans(project)))

    project.pulumi("cancel", "--yes", project.preset)
    assert "DependencyViolation" in project.destroy(exit_status=1).output, (
        "the orphan stands in the subnet, behind the group"
    )
    assert project.samebox("sweep", "--stack", project.preset, "--orphans", "--delete", "--yes").exit_status == 0
    project.destroy()
    swept = project.samebox("sweep", "--stack", project.preset, "--delete", "--yes")
    assert swept.exit_status == 0
    assert things(project.cloud) == before


def test_a_killed_command_leaves_pulumi_to_its_end(new_project: NewProject, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command that began the update is killed while a host is launched: the state knows every host, nothing is locked."""
    project = new_project()
    for name, value in project.environment.items():
        monkeypatch.setenv(name, value)
    record = UpdateRecord(project.folder / "update")
    project.cloud.inject(Faults(launch_delay_s={"broker-2": WAIT_S}))
    command = subprocess.Popen(
        [sys.executable, "-c", UP, project.preset, str(record.folder)],
        cwd=project.folder,
        env={**project.environment, "PYTHONPATH": str(CHECKOUT)},
        stdout=subprocess.PIPE,
    )
    await_true(lambda: project.cloud.launches_slowly("broker-2"))
    command.kill()
    command.communicate(timeout=WAIT_S)
    notices: list[str] = []
    stack = Stack(project.preset, project.folder, notice=notices.append, record=record)
    with pytest.raises(StackFailed, match=r"`pulumi up` of stack smoke is still running \(pid \d+, since"):
        stack.preview(lambda _: None)
    project.cloud.inject(Faults())
    await_true(lambda: not (update := record.read()) or not update.running)

    assert orphans(project) == set()
    assert len(instances(project.cloud)) == HOSTS
    assert stack.preview(lambda _: None) == ()
    assert "by a command that was killed, has ended" in notices[0]
