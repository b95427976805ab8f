"""The one Spark step of a report, and the cluster that lives as long as it, as EMR's API takes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from provisioning.testbeds.aws.emr_sizes import SparkSizes, load_nodes
from provisioning.testbeds.aws.emr_target import EmrTarget

if TYPE_CHECKING:
    from mypy_boto3_emr.type_defs import StepConfigTypeDef

STEP_LIMIT_S = 6 * 3600  # a step that hangs must not keep a cluster for ever, also when nobody is looking
PYTHON = "/usr/bin/python3.11"  # EMR's default python3 is 3.9


@dataclass(frozen=True)
class SparkStep:
    """A spark-submit of files in S3. `archive` is unpacked as ./libraries beside the driver and every executor."""

    name: str
    program: str
    package: str
    archive: str
    arguments: tuple[str, ...]
    sizes: SparkSizes

    @property
    def command(self) -> list[str]:
        """The command line that runs on the cluster's primary node."""
        settings = {
            "spark.pyspark.python": PYTHON,
            "spark.yarn.appMasterEnv.PYTHONPATH": "./libraries",
            "spark.executorEnv.PYTHONPATH": "./libraries",
            **self.sizes.settings,
            "spark.yarn.maxAppAttempts": "1",  # what failed once fails again, and costs twice
        }
        return [
            *("timeout", "--kill-after=60", str(STEP_LIMIT_S)),
            *("spark-submit", "--master", "yarn", "--deploy-mode", "cluster", "--name", self.name),
            *("--archives", f"{self.archive}#libraries", "--py-files", self.package),
            *(word for key, value in settings.items() for word in ("--conf", f"{key}={value}")),
            *(self.program, *self.arguments),
        ]

    def request(self, *, on_failure: str) -> StepConfigTypeDef:
        """As EMR's API takes it."""
        jar: Any = {"Jar": "command-runner.jar", "Args": self.command}
        action: Any = on_failure
        return {"Name": self.name, "ActionOnFailure": action, "HadoopJarStep": jar}


def cluster_request(target: EmrTarget, step: SparkStep, log_uri: str) -> dict[str, Any]:
    """RunJobFlow's arguments for a cluster that lives as long as its one step."""
    groups = [{"InstanceRole": "MASTER", "InstanceType": target.instance_type, "InstanceCount": 1}]
    if target.instances > 1:
        groups.append(
            {"InstanceRole": "CORE", "InstanceType": target.instance_type, "InstanceCount": target.instances - 1}
        )
    return {
        "Name": step.name,
        "ReleaseLabel": target.release,
        "LogUri": log_uri,
        "ServiceRole": target.service_role,
        "JobFlowRole": target.instance_profile,
        "Applications": [{"Name": "Spark"}],
        "Configurations": [_yarn_memory(target.instance_type)],
        "Instances": {
            "InstanceGroups": groups,
            "Ec2SubnetId": target.subnet,
            "EmrManagedMasterSecurityGroup": target.master_security_group,
            "EmrManagedSlaveSecurityGroup": target.slave_security_group,
            "ServiceAccessSecurityGroup": target.service_access_security_group,
            "KeepJobFlowAliveWhenNoSteps": False,
            "TerminationProtected": False,
        },
        "VisibleToAllUsers": True,
        "Tags": [{"Key": key, "Value": value} for key, value in sorted(target.tags.items())],
        "Steps": [step.request(on_failure="TERMINATE_CLUSTER")],
    }


def _yarn_memory(instance_type: str) -> dict[str, Any]:
    """What driver and executors are sized by, told to the cluster, so that it holds whatever the release's own default is."""
    memory_mib = str(load_nodes()[instance_type].yarn_memory_mib)
    keys = ("yarn.nodemanager.resource.memory-mb", "yarn.scheduler.maximum-allocation-mb")
    return {"Classification": "yarn-site", "Properties": dict.fromkeys(keys, memory_mib)}
