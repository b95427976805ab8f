"""The one Spark step of a report as EMR takes it. Data only: it starts nothing and knows nothing of what the program does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from provisioning.testbeds.aws.emr_sizes import SparkSizes

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
