"""docs/aws.md says what the presets, the operator's policy and AWS say: figures, statements, file names."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import fields
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import botocore.session
import yaml
from pydantic.alias_generators import to_camel

from infra.instance_types import INSTANCE_TYPES
from infra.settings import HostGroup, Settings
from provisioning.testbeds.aws.rehearsal.iam.policy import read_policy
from tests.infra.permissions.needs import POLICY_FILE, REGION_PLACEHOLDER, operator_policy
from tests.infra.recorded_program import ROOT

GUIDE = (ROOT / "docs/aws.md").read_text()
STACKS = ("sn2022", "sn2020", "smoke", "tiny")
LONGEST_POLICY = 6_144  # of a customer managed policy, without white space
CALLED_IN_BOTOCORE = {"ec2": "ec2", "iam": "iam", "scheduler": "scheduler", "elasticmapreduce": "emr"}


def config(stack: str) -> dict[str, Any]:
    """A preset's own keys."""
    read = yaml.safe_load((ROOT / f"infra/presets/{stack}.yaml").read_text())["config"]
    return {key.removeprefix("samebox:"): value for key, value in read.items()}


def row(stack: str, heading: str) -> list[str]:
    """The cells of a stack's row in the table under a heading."""
    section = GUIDE.split(f"## {heading}\n")[1].split("\n## ")[0]
    (line,) = re.findall(rf"^\| {stack} \|(.*)\|$", section, re.MULTILINE)
    return [cell.strip() for cell in line.split("|")]


def test_the_table_of_testbeds_is_that_of_the_presets() -> None:
    """Counts and types of every role, and of the report's cluster."""
    for stack in STACKS:
        made = config(stack)
        groups = [made[key] for key in ("brokers", "clients", "metadata")]
        roles = [f"{each['count']} x {each['instanceType']}" if each["count"] else "none" for each in groups]
        assert row(stack, "Which testbed") == [*roles, f"{made['reportInstances']} x {made['reportInstanceType']}"]


def test_the_quotas_are_those_of_the_presets() -> None:
    """vCPUs of all hosts, of a replaced broker, of the report, and what covers them; the presets' own comments agree."""
    for stack in STACKS:
        made = config(stack)
        hosts = sum(
            made[key]["count"] * INSTANCE_TYPES[made[key]["instanceType"]].vcpus
            for key in ("brokers", "clients", "metadata")
        )
        broker = INSTANCE_TYPES[made["brokers"]["instanceType"]].vcpus
        report = made["reportInstances"] * INSTANCE_TYPES[made["reportInstanceType"]].vcpus
        enough = hosts + max(3 * broker, report)
        assert row(stack, "Quotas") == [str(hosts), str(broker), str(report), str(enough)]
        assert f"# {hosts} vCPUs, and {report} more" in (ROOT / f"infra/presets/{stack}.yaml").read_text()


def costs_of(campaign: str) -> dict[str, Any]:
    """What `samebox cost` says of a campaign, by stack."""
    command = [str(Path(sys.executable).with_name("samebox")), "cost", f"campaigns/{campaign}.toml", "--json"]
    said = json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout)
    return {each["stack"]: each for each in said["stacks"]}


def test_the_first_run_costs_what_the_guide_says() -> None:
    """Dollars and minutes of the smallest campaign on the smallest preset."""
    campaign = costs_of("smoke")["tiny"]["campaign"]
    assert f"about ${campaign['total']:.2f} and {campaign['hours'] * 60:.0f} minutes" in GUIDE


def test_the_prices_are_what_the_command_says() -> None:
    """Of every preset: an hour, the report, the demo campaign in all, its minutes, and those of them in which hosts are vetted."""
    found = costs_of("demo")
    for stack in STACKS:
        costs, campaign = found[stack], found[stack]["campaign"]
        dollars = [f"${amount:.2f}" for amount in (costs["per_hour"], costs["emr_step"], campaign["total"])]
        minutes = [f"{campaign['hours'] * 60:.0f}", f"{campaign['vetting_s'] / 60:.0f}"]
        assert row(stack, "Time and cost") == [*dollars, *minutes]


def test_the_policy_names_actions_that_exist() -> None:
    """No action is misspelt, none is everything, and the policy is short enough to be made, in the region of the longest name."""
    policy = json.loads(POLICY_FILE.read_text().replace(REGION_PLACEHOLDER, "ap-northeast-1"))
    assert len(re.sub(r"\s", "", json.dumps(policy))) <= LONGEST_POLICY
    session = botocore.session.get_session()
    operations = {
        prefix: session.get_service_model(name).operation_names for prefix, name in CALLED_IN_BOTOCORE.items()
    }
    checked = 0
    for statement in policy["Statement"]:
        actions = statement["Action"] if isinstance(statement["Action"], list) else [statement["Action"]]
        for action in actions:
            prefix, _, name = action.partition(":")
            assert name not in ("", "*"), action
            if prefix in operations and action != "iam:PassRole":  # a permission that is no call
                # the API has RunJobFlow, the permission to call it has the same name; List* and Describe* are patterns
                assert any(fnmatch(operation, name) for operation in operations[prefix]), action
                checked += 1
    assert checked > 80


def test_whatever_ends_or_changes_things_is_limited_to_ours() -> None:
    """By tag, or by name."""
    policy = json.loads(POLICY_FILE.read_text())
    for statement in policy["Statement"]:
        actions = statement["Action"] if isinstance(statement["Action"], list) else [statement["Action"]]
        if any(re.search(r":(Delete|Terminate|Revoke|Modify|Put|Detach)", action) for action in actions):
            by_tag = statement.get("Condition", {}).get("StringEquals", {}).get("aws:ResourceTag/project") == "samebox"
            assert by_tag or "samebox-*" in str(statement["Resource"]), statement["Sid"]


def test_the_guide_says_what_every_statement_of_the_policy_allows() -> None:
    """One row each, in the file's order."""
    section = GUIDE.split("## Permissions\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (\w+) \| .+ \|$", section, re.MULTILINE)
    assert rows == ["statement", *(each.sid for each in operator_policy().statements)]


def test_the_line_that_makes_the_policy_fills_in_the_region() -> None:
    """As a shell reads it: the document that `aws` would get is the policy for that region."""
    (line,) = re.findall(r"^aws iam create-policy .*$", GUIDE, re.MULTILINE)
    shell = f"aws() {{ printf '%s\\n' \"${{@: -1}}\"; }}; {line}"
    document = subprocess.run(["bash", "-c", shell], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert read_policy(document) == operator_policy("us-west-2")
    assert REGION_PLACEHOLDER not in document


def test_the_table_of_keys_has_every_key() -> None:
    """Those of a stack, and those inside a role's table."""
    section = GUIDE.split("## Config keys\n")[1].split("\n## ")[0]
    documented = {
        key.strip() for line in re.findall(r"^\| ([\w, ]+) \|", section, re.MULTILINE) for key in line.split(",")
    }
    assert documented - {"key"} == {to_camel(field.name) for field in fields(Settings)}
    assert all(f"`{to_camel(field.name)}`" in section for field in fields(HostGroup))


def test_files_that_the_guide_links_to_exist() -> None:
    """Relative links lead somewhere."""
    for link in re.findall(r"\]\((\.\./[^)#]+)\)", GUIDE):
        assert (ROOT / "docs" / link).resolve().exists(), link
