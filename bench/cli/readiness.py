"""Whether AWS is ready for a stack, as `samebox doctor --stack` tells it and `samebox campaign aws` requires it."""

from __future__ import annotations

from pathlib import Path

from bench.checkout import CHECKOUT
from bench.cli.options import console
from provisioning.errors import MissingRequirement
from provisioning.testbeds.aws.stack import project_directory
from provisioning.testbeds.finding import Finding


def findings_of(stack: str, needs_s: float | None) -> tuple[Finding, ...]:
    """What a stack would meet on AWS; `needs_s` is what its campaign takes in all. Raises InvalidInput for an unknown stack."""
    # boto3 takes a third of a second to import, which no other command should wait for
    from provisioning.testbeds.aws.readiness.looks import look_around
    from provisioning.testbeds.aws.readiness.planned import planned

    with console.status("asking AWS"):
        return look_around(planned(project_directory(Path.cwd(), CHECKOUT), stack, needs_s=needs_s))


def zones_of(stack: str) -> tuple[str, ...]:
    """The zones that a stack may stand in, in the order in which they are tried; none where its config names one.

    Raises MissingRequirement if AWS doesn't say which zones have its types.
    """
    from provisioning.testbeds.aws.readiness.planned import planned
    from provisioning.testbeds.aws.zones import zones_to_try

    return zones_to_try(planned(project_directory(Path.cwd(), CHECKOUT), stack))


def require_ready(stack: str, needs_s: float) -> None:
    """Raises MissingRequirement with every need that isn't met. What isn't known is said and let pass."""
    findings = findings_of(stack, needs_s)
    missing = [finding.sentence for finding in findings if finding.met is False]
    if missing:
        raise MissingRequirement(
            "\n  ".join([f"stack {stack} can't be stood up as things are:", *missing]),
            next_step=f"Mend them; `samebox doctor --stack {stack}` looks again, and costs nothing. "
            "Step by step (docs/aws.md) nothing of it is required.",
        )
    for finding in findings:
        if finding.met is None:
            console.print(finding.sentence, markup=False, soft_wrap=True)
