"""`pulumi up` starts here: settings -> network, bucket -> hosts -> timer, roles for the report -> outputs."""

from __future__ import annotations

import sys
from pathlib import Path

import pulumi
import pulumi_aws as aws

# Pulumi starts this folder, not the project's: with this, a module has one name, whoever imports it
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from infra.emr import Emr
from infra.fleet import Fleet
from infra.network import Network
from infra.outputs import inventory, ssh_config
from infra.preflight import check_image, choose_zone, given_network, require_engine
from infra.results_bucket import ResultsBucket
from infra.settings import load_settings
from infra.timer import Timer

require_engine()
settings = load_settings()
only = [settings.aws_account] if settings.aws_account else None
provider = aws.Provider("aws", region=settings.region, allowed_account_ids=only)
here = pulumi.ResourceOptions(provider=provider)
asked = pulumi.InvokeOptions(provider=provider)
check_image(settings, asked)

network = Network("samebox", settings, choose_zone(settings, asked), given_network(settings, asked), here)
results = ResultsBucket("samebox", settings, here)
fleet = Fleet("samebox", settings, network, results.bucket, here)
timer = Timer("samebox-end", settings, fleet.hosts, here)
emr = Emr("samebox-report", settings, network, results.bucket, here)

testbed = inventory(settings, fleet.hosts, results.bucket)
pulumi.export("inventory", testbed)
pulumi.export("sshConfig", ssh_config(testbed))
pulumi.export("resultsBucket", results.bucket.bucket)
pulumi.export("stack", pulumi.get_stack())
pulumi.export("region", settings.region)
pulumi.export("availabilityZone", network.availability_zone)
pulumi.export("emr", emr.description)
pulumi.export("timer", timer.description)
