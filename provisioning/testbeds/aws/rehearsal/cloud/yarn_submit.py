"""spark-submit on the double's cluster: what YARN does for `--deploy-mode cluster`, then the real spark-submit of the pinned pyspark.

The sizes asked for must have room on the cluster's nodes (yarn.py). Program, packages and archives are fetched from S3 into an empty
folder, archives are unpacked under their alias, and the program runs there with a bare environment. Its arguments stay as they are.
What the program prints goes to its container's log, not here.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import boto3
from botocore.exceptions import ClientError

from provisioning.testbeds.aws.rehearsal.cloud.cluster_machine import PYTHON_ON_CLUSTER, job_environment, spark_home
from provisioning.testbeds.aws.rehearsal.cloud.yarn import NoRoom, require_room

# of org.apache.spark.launcher.SparkSubmitOptionParser, 3.5
WITH_VALUE = {
    "--archives", "--class", "--conf", "--deploy-mode", "--driver-class-path", "--driver-cores", "--driver-java-options",
    "--driver-library-path", "--driver-memory", "--exclude-packages", "--executor-cores", "--executor-memory", "--files",
    "--jars", "--keytab", "--kill", "--master", "--name", "--num-executors", "--packages", "--principal",
    "--properties-file", "--proxy-user", "--py-files", "--queue", "--repositories", "--status", "--total-executor-cores", "-c",
}  # fmt: skip
SWITCHES = {"--help", "-h", "--supervise", "--usage-error", "--verbose", "-v", "--version"}
OF_CONTAINERS = {"--driver-memory": "spark.driver.memory", "--executor-memory": "spark.executor.memory"}
# placed by YARN, whose limits are checked before; what runs here runs on one machine
NOT_OF_ONE_MACHINE = (
    "spark.yarn.",
    "spark.driver.memory",
    "spark.executor.memory",
    "spark.executor.instances",
    "spark.pyspark.",
)


class Refused(Exception):
    """spark-submit ends here, as the real one would."""


@dataclass
class Submission:
    """A command line, taken apart."""

    options: dict[str, str] = field(default_factory=dict)
    conf: dict[str, str] = field(default_factory=dict)
    program: str = ""
    arguments: list[str] = field(default_factory=list)

    @property
    def sizes(self) -> dict[str, str]:
        """Every setting by which a container could be sized; an option of its own goes before `--conf`."""
        return {
            **self.conf,
            **{OF_CONTAINERS[name]: self.options[name] for name in OF_CONTAINERS.keys() & self.options.keys()},
        }


def parse(words: Sequence[str]) -> Submission:
    """Options up to the first word that is none: that is the program, and all the rest is its own."""
    parsed, left = Submission(), list(words)
    while left:
        word = left.pop(0)
        name, equals, value = word.partition("=")
        if word in SWITCHES:
            continue
        if name in WITH_VALUE:
            if not equals:
                if not left:
                    raise Refused(f"Missing argument for option '{name}'.")
                value = left.pop(0)
            if name in ("--conf", "-c"):
                key, _, setting = value.partition("=")
                parsed.conf[key] = setting
            else:
                parsed.options[name] = value
        elif word.startswith("-"):
            raise Refused(f"Unrecognized option: {word}")
        else:
            parsed.program, parsed.arguments = word, left
            return parsed
    raise Refused("Missing application resource.")


def fetch(uri: str, folder: Path) -> Path:
    """A file of the job into its container; only S3 is within the cluster's reach."""
    if not uri.startswith("s3://"):
        raise Refused(f'Exception in thread "main" java.io.FileNotFoundException: File {uri} does not exist')
    bucket, _, key = uri.removeprefix("s3://").partition("/")
    target = folder / Path(key).name
    try:
        boto3.client("s3").download_file(bucket, key, str(target))
    except ClientError as error:
        raise Refused(f'Exception in thread "main" java.io.FileNotFoundException: {uri}: {error}') from None
    return target


def unpack(uri: str, folder: Path) -> None:
    """An archive into the folder of its alias (or name), as YARN does."""
    source, _, alias = uri.partition("#")
    archive = fetch(source, folder)
    target = folder / (alias or archive.name)
    packed = archive.rename(folder / f".{archive.name}")
    if packed.name.endswith((".zip", ".jar")):
        with zipfile.ZipFile(packed) as content:
            content.extractall(target)
    else:
        with tarfile.open(packed) as tar:
            tar.extractall(target, filter="data")
    packed.unlink()


def command_line(job: Submission, machine: Path, folder: Path) -> tuple[list[str], dict[str, str]]:
    """The real spark-submit's arguments and environment, with everything that the job brings in `folder`."""
    if (job.options.get("--master", "yarn"), job.options.get("--deploy-mode")) != ("yarn", "cluster"):
        raise Refused("only --master yarn --deploy-mode cluster is modelled")
    python = job.conf.get("spark.pyspark.python", "python3")
    if python != PYTHON_ON_CLUSTER:
        raise Refused(f"Cannot run program {python!r} as Python 3.11: this release has it as {PYTHON_ON_CLUSTER}")
    for word in job.arguments:
        if Path(word).is_absolute():
            raise Refused(f"{word}: this machine isn't the operator's; there is no such file here")
    for archive in filter(None, job.options.get("--archives", "").split(",")):
        unpack(archive, folder)
    packages = [fetch(uri, folder) for uri in filter(None, job.options.get("--py-files", "").split(","))]
    program = fetch(job.program, folder)
    kept = {key: value for key, value in job.conf.items() if not key.startswith(NOT_OF_ONE_MACHINE)}
    kept["spark.pyspark.python"] = str(machine / "python" / "bin" / "python3")
    kept["spark.pyspark.driver.python"] = str(machine / "bin" / "driver-python")
    command = [str(spark_home() / "bin" / "spark-submit"), "--master", "local[2]"]
    command += [word for key, value in kept.items() for word in ("--conf", f"{key}={value}")]
    command += ["--py-files", ",".join(map(str, packages))] if packages else []
    command += ["--name", job.options["--name"]] if "--name" in job.options else []
    environment = job_environment(machine, folder.parent)
    for key, value in job.conf.items():
        if key.startswith("spark.yarn.appMasterEnv."):
            name = key.removeprefix("spark.yarn.appMasterEnv.")
            environment["DRIVER_PYTHONPATH" if name == "PYTHONPATH" else name] = value
    return [*command, str(program), *job.arguments], environment


def main() -> int:
    """The environment names the MACHINE, where CONTAINERS are to be made, and the memory in MiB of each of YARN's nodes."""
    application = os.environ["APPLICATION"]
    container = (
        Path(os.environ["CONTAINERS"]) / application / f"{application.replace('application', 'container')}_01_000001"
    )
    work, logs = container / "work", container / "logs"
    for folder in (work, logs, container / "tmp"):
        folder.mkdir(parents=True)
    try:
        job = parse(sys.argv[1:])
        require_room(job.sizes, [int(mib) for mib in os.environ["YARN_NODES_MIB"].split(",")])
        command, environment = command_line(job, Path(os.environ["MACHINE"]), work)
    except (Refused, NoRoom) as error:
        print(error, file=sys.stderr)
        return 1
    print(f"25/11/21 12:00:00 INFO YarnClientImpl: Submitted application {application}", file=sys.stderr, flush=True)
    with (logs / "stdout").open("wb") as out, (logs / "stderr").open("wb") as err:
        status = subprocess.run(
            command, cwd=work, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=err, check=False
        ).returncode
    if status != 0:
        print(
            'Exception in thread "main" org.apache.spark.SparkException: '
            f"Application {application} finished with failed status",
            file=sys.stderr,
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
