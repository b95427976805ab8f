"""The local cloud's process: moto's server made strict, with what moto lacks. It listens on loopback only.

provisioning.testbeds.aws.rehearsal.cloud.local_cloud starts it.
It prints one line of JSON when it serves and ends when its standard input ends.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

# read by moto when it is imported: instance types, images and managed policies that don't exist are refused as in AWS
os.environ["MOTO_IAM_LOAD_MANAGED_POLICIES"] = "true"
os.environ["MOTO_EC2_ENABLE_INSTANCE_TYPE_VALIDATION"] = "true"
os.environ["MOTO_ENABLE_AMI_VALIDATION"] = "true"

from moto.server import ThreadedMotoServer

from provisioning.testbeds.aws.rehearsal.cloud import (
    bucket_policies,
    capacity_reservations,
    dependencies,
    emr_steps,
    gate,
    images,
    launches,
    offerings,
    placement_groups,
    policy_simulator,
    quotas,
)
from provisioning.testbeds.aws.rehearsal.cloud.alarm_clock import AlarmClock
from provisioning.testbeds.aws.rehearsal.cloud.hosts import Hosts
from provisioning.testbeds.aws.rehearsal.cloud.local_cloud import MACHINE, environment, injected


def main() -> None:
    """Serves until standard input ends."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("state_dir", type=Path)
    arguments.add_argument("--hosts", action="store_true", help="instances are sshd hosts on loopback addresses")
    options = arguments.parse_args()

    gate.install(options.state_dir)
    policy_simulator.install(options.state_dir)
    placement_groups.install()
    capacity_reservations.install(lambda zone, _: launches.require_room(options.state_dir, zone))
    dependencies.install()
    bucket_policies.install()
    quotas.install()
    images.install(options.state_dir)
    offerings.install(options.state_dir)
    hosts = Hosts(options.state_dir) if options.hosts else None
    if hosts:
        hosts.install()
    launches.install(options.state_dir, launched=hosts.launched if hosts else None)
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    endpoint = f"http://{host}:{port}"
    machines = environment(endpoint, MACHINE)
    if hosts:
        hosts.environment = machines
    emr_steps.install(endpoint, options.state_dir / "emr", machines, lambda: injected(options.state_dir).ending_s)
    alarm_clock = AlarmClock(endpoint, lambda: injected(options.state_dir).clock_ahead_s)
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
