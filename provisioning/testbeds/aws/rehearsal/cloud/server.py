"""The local cloud's process: moto's server made strict, with what moto lacks. It listens on loopback only.

provisioning.testbeds.aws.rehearsal.cloud.local_cloud starts it.
It prints one line of JSON when it serves and ends when its standard input ends.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys

# read by moto when it is imported: instance types, images and managed policies that don't exist are refused as in AWS
os.environ["MOTO_IAM_LOAD_MANAGED_POLICIES"] = "true"
os.environ["MOTO_EC2_ENABLE_INSTANCE_TYPE_VALIDATION"] = "true"
os.environ["MOTO_ENABLE_AMI_VALIDATION"] = "true"

from moto.server import ThreadedMotoServer

from provisioning.testbeds.aws.rehearsal.cloud import (
    capacity_reservations,
    corrections,
    emr_steps,
    moto_patches,
    placement_groups,
)
from provisioning.testbeds.aws.rehearsal.cloud.alarm_clock import AlarmClock
from provisioning.testbeds.aws.rehearsal.cloud.hosts import Hosts
from provisioning.testbeds.aws.rehearsal.cloud.local_cloud import MACHINE, environment


def main() -> None:
    """Serves until standard input ends."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--hosts", action="store_true", help="instances are sshd hosts on loopback addresses")
    hosts = Hosts() if arguments.parse_args().hosts else None

    more = [importlib.import_module(name) for name in os.environ.get(moto_patches.PATCHES_VARIABLE, "").split()]
    moto_patches.install(placement_groups, capacity_reservations, corrections, emr_steps, *more)
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    endpoint = f"http://{host}:{port}"
    emr_steps.CREDENTIALS.update(environment(endpoint, MACHINE))
    if hosts:
        hosts.environment = environment(endpoint, MACHINE)
        corrections.LAUNCHED.append(hosts.launched)
        corrections.ENDING.append(hosts.end)
    alarm_clock = AlarmClock(endpoint)
    alarm_clock.start()
    print(json.dumps({"endpoint": endpoint}), flush=True)
    try:
        sys.stdin.read()
        alarm_clock.stop()
        emr_steps.stop()
        server.stop()
    finally:
        if hosts:
            hosts.end_all()


if __name__ == "__main__":
    main()
