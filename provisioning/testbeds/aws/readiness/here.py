"""The looks that ask only this machine: the stack's config, the memory that its report has, the Pulumi that brings it up."""

from __future__ import annotations

import importlib.metadata
import json
import shutil
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from typing import Any

from provisioning.errors import InvalidInput, MissingRequirement
from provisioning.testbeds.aws.emr_sizes import sizes_on
from provisioning.testbeds.aws.pulumi_command import find_pulumi, plugin_versions, pulumi_version
from provisioning.testbeds.aws.readiness.planned import Answer, Planned
from provisioning.testbeds.aws.shape import PRESETS, read_stack_config, stack_name
from provisioning.testbeds.aws.time_to_live import utc_text
from provisioning.testbeds.aws.vetting_time import thresholds_of
from provisioning.vetting import load_thresholds

CHECK = "infra.config_check"
CHECK_TIMEOUT_S = 60
LIFE = timedelta(hours=8)
# what `samebox campaign aws` sets by itself is judged as if it were set
SET_FOR_EACH_RUN = ("created", "expires", "hostKeySeed")


def look_at_config(planned: Planned) -> Answer:
    """Judged by the Pulumi program's own reader, in a process of its own, SSH key included."""
    preset = planned.file.parent.name == PRESETS.name
    own = f"Pulumi.{stack_name(planned.file)}.yaml"
    command = [sys.executable, "-m", CHECK]
    try:
        ran = subprocess.run(
            command,
            cwd=planned.directory,
            input=json.dumps(_as_pulumi_hands_it_over(read_stack_config(planned.file), datetime.now(UTC))),
            capture_output=True,
            text=True,
            timeout=CHECK_TIMEOUT_S,
            check=True,
        )
        problems = list(json.loads(ran.stdout))
    except (OSError, subprocess.SubprocessError, json.JSONDecodeError) as error:
        said = str(getattr(error, "stderr", "") or error).strip().splitlines()[-1:]
        return Answer(None, f"not known: {CHECK} didn't run: {''.join(said)}", "`pulumi preview` says what is wrong.")
    if preset:
        copy = f"cp {PRESETS / planned.file.name} {own}"
        return Answer(False, f"{own} doesn't exist; this is its preset", "\n".join([copy, *problems]))
    if problems:
        return Answer(False, f"{own} can't be used", "\n".join(problems))
    return Answer(True, f"{own} is sound ({', '.join(SET_FOR_EACH_RUN)} not judged: `samebox campaign aws` sets them)")


def _as_pulumi_hands_it_over(config: dict[str, Any], now: datetime) -> dict[str, Any]:
    """Every value as text, a table as JSON; what a run sets as a run would set it, unless the seed is stored in plain text."""
    texts = {
        key: json.dumps(value, default=str) if isinstance(value, dict | list) else str(value)
        for key, value in config.items()
    }
    texts |= {"created": utc_text(now), "expires": utc_text(now + LIFE)}
    texts.setdefault("campaign", "campaign")  # taken from the campaign by that command, too
    secret_keys = []
    if isinstance(config.get("hostKeySeed"), dict | None):
        texts["hostKeySeed"] = "0" * 64
        secret_keys.append("hostKeySeed")
    return {"texts": texts, "secret_keys": secret_keys}


def look_at_room(planned: Planned) -> Answer:
    """Whether the report's driver and executors fit into the memory of the cluster's machines."""
    shape = planned.shape
    cluster = f"{shape.report_instances} x {shape.report_instance_type}"
    try:
        sizes = sizes_on(
            shape.report_instance_type,
            shape.report_instances - 1,
            where="samebox:reportInstanceType",
            next_step=planned.set_command("reportInstanceType", "m5.xlarge"),
        )
    except InvalidInput as error:
        return Answer(False, str(error), error.next_step)
    return Answer(True, f"{cluster}: {sizes}")


def look_at_probes(planned: Planned) -> Answer:
    """Which probes judge the disks; of short ones, what they don't tell."""
    try:
        thresholds = thresholds_of(planned.shape, load_thresholds())
    except InvalidInput as error:
        return Answer(False, str(error), error.next_step)
    kind = planned.shape.brokers.instance_type
    profile = thresholds.profile_of(kind)
    size = f"{profile.throughput_bytes / 2**30:g} GiB {profile.repeats} times on each disk of {kind}"
    return Answer(True, f"{size}: {profile.caveat}" if profile.caveat else size)


def look_at_pulumi(planned: Planned) -> Answer:
    """Whether the installed Pulumi is one that Pulumi.yaml requires."""
    del planned
    try:
        program = find_pulumi()
        return Answer(True, f"{program}, {pulumi_version(program)}")
    except MissingRequirement as error:
        return Answer(False, str(error), error.next_step)


def look_at_plugin(planned: Planned) -> Answer:
    """Whether Pulumi has the provider of the pinned SDK, which it otherwise fetches on first use."""
    del planned
    pinned = importlib.metadata.version("pulumi_aws")
    by_hand = shutil.which("pulumi-resource-aws")
    if by_hand is not None:  # Pulumi takes it, whatever the version
        return Answer(True, f"{by_hand}, on PATH; the SDK is {pinned}")
    try:
        installed = plugin_versions(find_pulumi(), "aws")
    except MissingRequirement as error:
        return Answer(None, f"not known: {error}", error.next_step)
    if pinned in installed:
        return Answer(True, f"{pinned}, as the SDK is")
    others = f" ({', '.join(installed)} is)" if installed else ""
    fetch = f"`pulumi plugin install resource aws v{pinned}`"
    return Answer(True, f"{pinned} isn't installed yet{others}: Pulumi fetches it on first use, or {fetch} now")


LOOKS = {
    "config of the stack": look_at_config,
    "room for the report": look_at_room,
    "probes of the vetting": look_at_probes,
    "Pulumi": look_at_pulumi,
    "AWS plugin of Pulumi": look_at_plugin,
}
