"""EMR whose steps execute: clusters start, run their steps one after the other on this machine, ship logs, end.

moto answers the calls; here is what it leaves out: a cluster's life, command-runner.jar, what ActionOnFailure and
KeepJobFlowAliveWhenNoSteps do, log files, and the refusal of roles and networks that don't exist.
"""

from __future__ import annotations

import contextlib
import gzip
import os
import re
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import boto3
from moto.core.exceptions import ServiceException
from moto.core.responses import BaseResponse
from moto.core.utils import utcnow
from moto.emr.models import Cluster, Step
from moto.emr.responses import ElasticMapReduceResponse
from moto.iam.models import iam_backends
from werkzeug.exceptions import HTTPException

from provisioning.testbeds.aws.rehearsal.cloud.cluster_machine import make_machine
from provisioning.testbeds.aws.rehearsal.cloud.corrections import hold_network, let_go
from provisioning.testbeds.aws.rehearsal.cloud.local_cloud import state_dir
from provisioning.testbeds.aws.rehearsal.cloud.moto_patches import instead_of
from provisioning.testbeds.aws.rehearsal.cloud.yarn import nodes_of

START_S = 1.0  # a real cluster takes minutes
SHIPPING_S = 1.0  # a real cluster ships logs every five minutes
LOOK_EVERY_S = 0.1
CREDENTIALS: dict[str, str] = {}  # the clusters' own, with the cloud's endpoint: what their environment is told of AWS
_machine_lock = threading.Lock()
_lives: list[ClusterLife] = []


@instead_of(Cluster)
def run_bootstrap_actions(moto: Any, self: Any) -> None:
    """A cluster has a life from then on."""
    del moto
    self.state = "STARTING"
    self.life = ClusterLife(self)
    _lives.append(self.life)
    self.life.thread.start()


@instead_of(Cluster)
def add_steps(moto: Any, self: Any, steps: list[dict[str, Any]]) -> list[Step]:
    """They wait for their turn."""
    before = self.__dict__.get("state")
    added: list[Step] = moto(self, steps)
    for step in added:
        step.state = "PENDING"
    self.state = before
    return added


@instead_of(Cluster)
def terminate(moto: Any, self: Any) -> None:
    """It takes a while; one that has ended already is fine."""
    if self.life.thread.is_alive():
        self.life.end()
        moto(self)
        self.state = "TERMINATING"


@instead_of(Step)
def status(moto: Any, self: Any) -> dict[str, Any]:
    """With why a step failed."""
    details = getattr(self, "failure_details", None)
    described: dict[str, Any] = moto(self)
    return {**described, "FailureDetails": details} if details else described


@instead_of(ElasticMapReduceResponse)
def get_region_from_url(moto: Any, self: Any, request: Any, full_url: str) -> str:
    """moto looks for EMR's region in the host name only, and would put every cluster into us-east-1."""
    del moto
    return BaseResponse.get_region_from_url(self, request, full_url)


def stop() -> None:
    """Ends every cluster and all that runs on one."""
    for life in _lives:
        life.end()
    for life in _lives:
        life.thread.join(30.0)


class ClusterLife:
    """One cluster from start to end, in a thread of its own."""

    def __init__(self, cluster: Any) -> None:
        self.thread = threading.Thread(target=self._live, name=f"emr-{cluster.id}", daemon=True)
        self._cluster, self._folder = cluster, state_dir() / "emr"
        self._ending = threading.Event()
        self._failed = False

    def end(self) -> None:
        """What runs is ended, what waits is cancelled."""
        self._ending.set()

    def _live(self) -> None:
        cluster, ec2 = self._cluster, self._cluster.emr_backend.ec2_backend
        self._ending.wait(START_S)
        invalid = self._what_is_invalid()
        interfaces = [] if invalid else hold_network(ec2, cluster)
        if invalid:
            cluster.last_state_change_reason = invalid
        else:
            cluster.state, cluster.ready_datetime = "RUNNING", utcnow()
            cluster.log_uri = (cluster.log_uri or "").replace("s3://", "s3n://")  # as EMR shows it
            self._tag_machines()
            self._run_steps()
        failed = bool(invalid) or self._failed
        cluster.state = "TERMINATING"
        for step in cluster.steps:
            if step.state in ("PENDING", "RUNNING"):
                step.state = "CANCELLED"
        self.end_machines()
        let_go(ec2, interfaces)
        time.sleep(LOOK_EVERY_S)
        cluster.end_datetime = utcnow()
        cluster.state = "TERMINATED_WITH_ERRORS" if failed else "TERMINATED"

    def end_machines(self) -> None:
        """The last thing before it has ended."""
        machines = [instance.ec2_instance_id for instance in self._cluster.ec2_instances]
        if machines:
            self._cluster.emr_backend.ec2_backend.terminate_instances(machines)

    def _run_steps(self) -> None:
        cluster = self._cluster
        while not self._ending.is_set():
            waiting = [step for step in cluster.steps if step.state == "PENDING"]
            if waiting:
                cluster.state = "RUNNING"
                completed = self._run(waiting[0])
                if not completed and waiting[0].action_on_failure in ("TERMINATE_CLUSTER", "TERMINATE_JOB_FLOW"):
                    self._failed = True
                    cluster.last_state_change_reason = "Shut down as step failed"
                    return
            elif cluster.keep_job_flow_alive_when_no_steps:
                cluster.state = "WAITING"
                self._ending.wait(LOOK_EVERY_S)
            else:
                cluster.last_state_change_reason = "Steps completed"
                return

    def _run(self, step: Any) -> bool:
        cluster, work = self._cluster, self._folder / self._cluster.id / step.id
        step.state, step.start_date_time = "RUNNING", utcnow()
        work.mkdir(parents=True)
        status = self._execute(step, work)
        step.end_date_time = utcnow()
        if status is None:
            step.state = "CANCELLED"
        elif status != 0:
            said = [line for line in (work / "stderr").read_text(errors="replace").splitlines() if line.strip()]
            of_errors = [line for line in said if re.search(r"(Error|Exception)\b", line)]
            step.failure_details = {
                "Reason": "Unknown Error.",
                "Message": (of_errors or said or [f"exit {status}"])[-1][:300],
                "LogFile": f"{cluster.log_uri}{cluster.id}/steps/{step.id}/stderr.gz",
            }
            step.state = "FAILED"
        else:
            step.state = "COMPLETED"
        threading.Thread(target=self._ship_logs, args=[step, work], daemon=True).start()
        return status == 0

    def _execute(self, step: Any, work: Path) -> int | None:
        """The exit status of the step's command line, None if it was ended from outside."""
        if step.jar != "command-runner.jar":
            (work / "stderr").write_text(f"Error: only command-runner.jar is there, not {step.jar}\n")
            return 1
        with _machine_lock:
            machine = make_machine(self._folder / "machine", CREDENTIALS["AWS_ENDPOINT_URL"])
        environment = {
            "PATH": f"{machine / 'bin'}:/usr/bin:/bin:{Path(shutil.which('java') or 'java').parent}",
            "HOME": str(work),
            **CREDENTIALS,
            "MACHINE": str(machine),
            "CONTAINERS": str(work / "containers"),
            "YARN_NODES_MIB": ",".join(map(str, nodes_of(self._cluster.instance_groups, self._cluster.configurations))),
            "APPLICATION": f"application_{int(time.time() * 1000)}_0001",
        }
        with (work / "stdout").open("wb") as out, (work / "stderr").open("wb") as err:
            try:
                process = subprocess.Popen(
                    step.args,
                    cwd=work,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=err,
                    start_new_session=True,
                )
            except OSError as error:
                err.write(f'Error: Cannot run program "{step.args[0]}": {error}\n'.encode())
                return 1
            while process.poll() is None:
                if self._ending.wait(LOOK_EVERY_S):
                    _end_session(process.pid)
                    process.wait()
                    return None
        return process.returncode

    def _ship_logs(self, step: Any, work: Path) -> None:
        time.sleep(SHIPPING_S)
        bucket, _, prefix = self._cluster.log_uri.partition("://")[2].partition("/")
        if not bucket:
            return
        base = f"{prefix.rstrip('/')}/{self._cluster.id}"
        files = {f"{base}/steps/{step.id}/{name}.gz": work / name for name in ("stdout", "stderr")}
        for log in sorted((work / "containers").glob("*/*/logs/*")):
            application, container = log.parts[-4:-2]
            files[f"{base}/containers/{application}/{container}/{log.name}.gz"] = log
        s3 = boto3.client(
            "s3",
            endpoint_url=CREDENTIALS["AWS_ENDPOINT_URL"],
            aws_access_key_id=CREDENTIALS["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=CREDENTIALS["AWS_SECRET_ACCESS_KEY"],
        )
        for key, file in files.items():
            if file.exists():
                s3.put_object(Bucket=bucket, Key=key, Body=gzip.compress(file.read_bytes()))

    def _what_is_invalid(self) -> str:
        """What EMR finds wrong only when it starts a cluster; empty if nothing."""
        cluster = self._cluster
        iam, ec2 = iam_backends[cluster.emr_backend.account_id]["aws"], cluster.emr_backend.ec2_backend
        profile, role = (name.rsplit("/", 1)[-1] for name in (cluster.role, cluster.service_role))
        checks: dict[str, Callable[[], Any]] = {
            f"Invalid InstanceProfile: {cluster.role}.": partial(iam.get_instance_profile, profile),
            f"Invalid ServiceRole: {cluster.service_role}.": partial(iam.get_role, role),
            f"The subnet {cluster.ec2_subnet_id} doesn't exist.": partial(ec2.get_subnet, cluster.ec2_subnet_id),
        }
        for group in (cluster.master_security_group, cluster.slave_security_group):
            checks[f"The security group {group} doesn't exist."] = partial(ec2.get_security_group_from_id, group)
        for sentence, look in checks.items():
            try:
                found = look()
            except (HTTPException, ServiceException, LookupError):
                found = None
            if found is None:
                return sentence
        known = cluster.emr_backend.list_release_labels()
        return (
            "" if cluster.release_label in known else f"The supplied release label is invalid: {cluster.release_label}."
        )

    def _tag_machines(self) -> None:
        machines = [instance.ec2_instance_id for instance in self._cluster.ec2_instances]
        tags = {tag["Key"]: tag["Value"] for tag in self._cluster.tags}
        tags["aws:elasticmapreduce:job-flow-id"] = self._cluster.id
        if machines and tags:
            self._cluster.emr_backend.ec2_backend.create_tags(machines, tags)


def _end_session(leader: int) -> None:
    """Kills everything of a session: `timeout` and Spark make process groups of their own."""
    for process in (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()):
        with contextlib.suppress(OSError):
            if os.getsid(process) == leader:
                os.kill(process, signal.SIGKILL)
