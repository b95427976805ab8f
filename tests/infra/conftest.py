"""The engine, a cloud and a project for the tests of the Pulumi program."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import boto3
import pytest

from provisioning.errors import MissingRequirement
from provisioning.testbeds.aws.rehearsal.cloud.hosts import require_hosts
from provisioning.testbeds.aws.rehearsal.engine.engine import Engine, find_engine
from tests.cloud.faults import Cloud, local_cloud
from tests.infra.project import NewProject, Project

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client


@pytest.fixture(scope="session")
def engine(request: pytest.FixtureRequest) -> Engine:
    """The real `pulumi`, built if it has to be; says which it is and how long that took."""
    found = find_engine()
    reporter = request.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None:
        reporter.write_line(f"\n{found}")
    return found


@pytest.fixture(scope="session")
def possible_hosts() -> None:
    """Instances can be hosts on this machine; else the test is skipped with the reason."""
    try:
        require_hosts()
    except MissingRequirement as error:
        pytest.skip(f"{error} {error.next_step}")


@pytest.fixture
def new_project(tmp_path: Path, engine: Engine) -> Iterator[NewProject]:
    """Makes a stack of its own in a cloud of its own: new_project("smoke", hosts=False)."""
    with ExitStack() as clouds:

        def make(preset: str = "smoke", *, hosts: bool = False) -> Project:
            folder = tmp_path / preset
            cloud = clouds.enter_context(local_cloud(folder / "cloud", hosts=hosts))
            return Project(folder, preset, cloud, engine)

        yield make


@pytest.fixture
def ec2(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> EC2Client:
    """EC2 of the module's own `cloud`, reached as any program reaches it: by the environment."""
    for name, value in cloud.environment.items():
        monkeypatch.setenv(name, value)
    return boto3.client("ec2")
