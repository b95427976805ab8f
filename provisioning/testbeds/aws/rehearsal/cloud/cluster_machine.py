"""A machine of an EMR cluster, as far as a Spark step sees it: spark-submit, a bare Python 3.11, S3. Made anew for each cloud.

Its Python has nothing installed: what a job needs must come with the job. Spark's own modules come from Spark's home, as on EMR.
"""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from provisioning.cache import user_cache
from provisioning.testbeds.aws.rehearsal.cloud.local_cloud import MACHINE
from systems.software.maven import maven_jars

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parents[4]
PYTHON_ON_CLUSTER = "/usr/bin/python3.11"


def s3_libraries() -> Path:
    """The jars by which Spark speaks to S3, from the user's cache; fetched by Maven the first time (281 MB)."""
    jars = maven_jars("hadoop-aws", HERE / "software" / "hadoop-aws")
    return jars.fetch(user_cache(), notice=lambda line: print(line, file=sys.stderr, flush=True)) / "libs"


def spark_home() -> Path:
    """Where the pinned pyspark lies."""
    found = importlib.util.find_spec("pyspark")
    assert found is not None and found.submodule_search_locations
    return Path(found.submodule_search_locations[0])


def make_machine(folder: Path, endpoint: str) -> Path:
    """The machine's folder: bin/spark-submit, python/bin/python3, conf/spark-defaults.conf."""
    if (folder / "ready").exists():
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "bin").mkdir(parents=True)
    base: str = getattr(sys, "_base_executable", sys.executable)
    subprocess.run([base, "-m", "venv", "--without-pip", str(folder / "python")], check=True, timeout=120)
    run = f"PYTHONPATH={shlex.quote(str(CHECKOUT))} exec {shlex.quote(sys.executable)}"
    _script(folder / "bin" / "spark-submit", f'{run} -m provisioning.testbeds.aws.rehearsal.cloud.yarn_submit "$@"')
    # the driver's environment is the application master's, and no executor inherits it
    _script(
        folder / "bin" / "driver-python",
        'export PYTHONPATH="$PYTHONPATH${DRIVER_PYTHONPATH:+:$DRIVER_PYTHONPATH}"\n'
        f'exec {shlex.quote(str(folder / "python" / "bin" / "python3"))} "$@"',
    )
    (folder / "conf").mkdir()
    (folder / "conf" / "spark-defaults.conf").write_text(_defaults(endpoint))
    (folder / "ready").touch()
    return folder


def job_environment(machine: Path, home: Path) -> dict[str, str]:
    """All that a job's process gets to see: nothing of the operator's."""
    java = shutil.which("java")
    assert java is not None, "Spark needs java on the PATH"
    return {
        "PATH": f"{Path(java).resolve().parent}:/usr/bin:/bin",
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "SPARK_HOME": str(spark_home()),
        "SPARK_CONF_DIR": str(machine / "conf"),
        "SPARK_LOCAL_DIRS": str(home / "spark"),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LAUNCHER_OPTS": "-XX:-UsePerfData",
        "TMPDIR": str(home / "tmp"),
    }


def _defaults(endpoint: str) -> str:
    """What a cluster's own configuration says; a job never learns that its S3 is this machine."""
    jars = f"{s3_libraries()}/*"
    settings = {
        "spark.driver.extraClassPath": jars,
        "spark.executor.extraClassPath": jars,
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": "-XX:-UsePerfData",
        "spark.hadoop.fs.s3.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem",
        "spark.hadoop.fs.s3a.endpoint": endpoint,
        "spark.hadoop.fs.s3a.endpoint.region": os.environ.get("AWS_REGION", "us-west-2"),
        "spark.hadoop.fs.s3a.path.style.access": "true",
        "spark.hadoop.fs.s3a.connection.ssl.enabled": "false",
        "spark.hadoop.fs.s3a.access.key": MACHINE,
        "spark.hadoop.fs.s3a.secret.key": "testing",
        "spark.hadoop.fs.s3a.aws.credentials.provider": "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider",
        "spark.hadoop.fs.s3a.attempts.maximum": "2",
    }
    return "".join(f"{key} {value}\n" for key, value in settings.items())


def _script(path: Path, body: str) -> None:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
