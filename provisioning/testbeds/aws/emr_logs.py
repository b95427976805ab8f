"""What a failed step printed, found in the logs that EMR ships to S3.

The step's own log is that of spark-submit on the primary node. The driver ran in a container of YARN, whose log lies under the
application's id; there stdout holds all that Python printed, errors too. EMR ships logs every five minutes and when a cluster ends.
"""

from __future__ import annotations

import gzip
import re
import time
import zlib
from contextlib import suppress

import boto3

from provisioning.testbeds.aws.emr import Progress, Running
from provisioning.testbeds.aws.storage import Bucket, location

SHIPPED_WITHIN_S = 420.0
POLL_EVERY_S = 10.0
TAIL_LINES = 30
_APPLICATION = re.compile(r"application_\d+_\d+")
_DRIVER = re.compile(r"/container_(?:e\d+_)?\d+_\d+_\d+_000001/(stdout|stderr)(?:\.gz)?$")
_SPARK_CHATTER = re.compile(r"^\d\d/\d\d/\d\d \d\d:\d\d:\d\d (INFO|WARN|DEBUG) ")


def last_words(
    opened: boto3.session.Session,
    log_uri: str,
    running: Running,
    progress: Progress,
    timeout_s: float = SHIPPED_WITHIN_S,
    poll_every_s: float = POLL_EVERY_S,
) -> str:
    """The end of what the step's program printed; where that can't be had, of what spark-submit printed; else empty."""
    if not log_uri:
        return ""
    where = location(log_uri)
    bucket, folder = Bucket(opened, where.bucket), f"{where.key.rstrip('/')}/{running.cluster}".lstrip("/")
    deadline_s = time.monotonic() + timeout_s
    while True:
        of_step = _texts(bucket, f"{folder}/steps/{running.step}/")
        submit = _tail(of_step.get("stderr", "")) or _tail(of_step.get("stdout", ""))
        application = _APPLICATION.search("\n".join(of_step.values()))
        driver = _texts(bucket, f"{folder}/containers/{application[0]}/", driver_only=True) if application else {}
        words = _tail(driver.get("stdout", "")) or _tail(driver.get("stderr", ""))
        # a step that never became an application has no other log than its own
        if words or (submit and not application):
            return words or submit
        if time.monotonic() > deadline_s:
            return submit
        progress.detail("waiting for its logs, which EMR ships every five minutes")
        time.sleep(poll_every_s)


def log_folder(log_uri: str, running: Running) -> str:
    """Where all of it lies, for the operator; empty if the cluster keeps no logs."""
    return f"{location(log_uri)}".rstrip("/") + f"/{running.cluster}/" if log_uri else ""


def _texts(bucket: Bucket, prefix: str, *, driver_only: bool = False) -> dict[str, str]:
    """stdout, stderr, ... -> content, of the logs below a prefix."""
    found = {}
    for key in sorted(bucket.sizes(prefix)):
        if not driver_only or _DRIVER.search(key):
            found[key.rsplit("/", 1)[-1].removesuffix(".gz")] = _unpacked(bucket.read(key))
    return found


def _unpacked(content: bytes) -> str:
    with suppress(gzip.BadGzipFile, EOFError, zlib.error):  # shipped as it is
        content = gzip.decompress(content)
    return content.decode(errors="replace")


def _tail(text: str) -> str:
    lines = [line.rstrip() for line in text.splitlines() if line.strip() and not _SPARK_CHATTER.match(line)]
    return "\n".join(lines[-TAIL_LINES:])
