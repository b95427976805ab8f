"""What must hold before anything is made: an engine that this program works with, and an image that fits the hosts."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pulumi
import pulumi.runtime
import pulumi_aws as aws
import yaml

from infra.settings import Settings

PROJECT_FILE = Path(__file__).resolve().parents[1] / "Pulumi.yaml"
PARAMETER = "/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-"  # and the architecture
GUIDE = "docs/aws.md, How long an image lives"


def required_version() -> str:
    """The range of versions, such as >=3.226.0."""
    return str(yaml.safe_load(PROJECT_FILE.read_text())["requiredPulumiVersion"])


def require_engine() -> None:
    """Raises RunError, which Pulumi prints without a traceback, for an engine outside the range.

    An older one leaves a host alone whose generation is raised; a CLI before 3.219 doesn't read `requiredPulumiVersion`.
    """
    try:
        pulumi.runtime.require_pulumi_version(required_version())
    except Exception as error:  # the SDK raises no narrower type
        raise pulumi.RunError(
            f"this program needs Pulumi {required_version()}; install a newer one (https://www.pulumi.com/docs/install/): {error}"
        ) from None


def check_image(settings: Settings, opts: pulumi.InvokeOptions) -> None:
    """Raises RunError, in preview already, for an AMI of another region or processor, or one that is gone. It never takes a newer one.

    A deprecated one is warned of and taken: AWS launches it by its id as before. Hosts that run with the image already need it
    no more: what can't be looked up then is a warning too, so that their end can be moved and their testbed changed.
    """
    ami, region = settings.ami, settings.region
    try:
        found = aws.ec2.get_ami(
            owners=["amazon", "self"],
            include_deprecated=True,
            filters=[aws.ec2.GetAmiFilterArgs(name="image-id", values=[ami])],
            opts=opts,
        )
    except Exception as error:  # the SDK raises no narrower type for an invoke that failed
        problem = _absent(settings) if "no results" in str(error) else f"could not be looked up in {region}: {error}"
        running = _running_with_it(settings, opts)
        if not running:
            raise pulumi.RunError(f"samebox:ami {ami} {problem}") from None
        pulumi.log.warn(f"The {running} hosts that run with samebox:ami {ami} stay as they are, but it {problem}")
        return
    if found.architecture != settings.architecture:
        raise pulumi.RunError(
            f"samebox:ami {ami} is for {found.architecture}; the hosts are {settings.architecture}. Look up one that fits and pin it, "
            f"or choose other types:\n{_how_to_pin(settings)}"
        )
    if found.deprecation_time and datetime.fromisoformat(found.deprecation_time) <= datetime.now(UTC):
        pulumi.log.warn(
            f"samebox:ami {ami} has been deprecated since {found.deprecation_time[:10]}. It still launches, so that measurements "
            f"can be repeated, until its owner removes it ({GUIDE})."
        )


def _running_with_it(settings: Settings, opts: pulumi.InvokeOptions) -> int:
    """How many hosts of this campaign run with the pinned image; 0 where that can't be found out either."""
    try:
        found = aws.ec2.get_instances(
            instance_tags={"project": settings.tags["project"], "campaign": settings.campaign},
            instance_state_names=["pending", "running"],
            filters=[aws.ec2.GetInstancesFilterArgs(name="image-id", values=[settings.ami])],
            opts=opts,
        )
    except Exception:  # as above; what the first lookup said is told then
        return 0
    return len(found.ids)


def _absent(settings: Settings) -> str:
    return (
        f"doesn't exist in {settings.region}, not even as a deprecated image: it belongs to another region (an AMI id is valid in one "
        f"region only), or its owner has removed it ({GUIDE}). Look up the current one and pin it, which replaces every host:\n"
        f"{_how_to_pin(settings)}"
    )


def _how_to_pin(settings: Settings) -> str:
    return (
        f"  aws ssm get-parameter --region {settings.region} --query Parameter.Value --output text "
        f"--name {PARAMETER}{settings.architecture}\n"
        "  pulumi config set samebox:ami AMI"
    )
