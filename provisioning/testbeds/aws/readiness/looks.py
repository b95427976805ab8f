"""All looks in the order in which they are told."""

from __future__ import annotations

from botocore.exceptions import BotoCoreError, ClientError

from provisioning.errors import MissingRequirement
from provisioning.testbeds.aws.readiness import account, here, hosts, permissions, report
from provisioning.testbeds.aws.readiness.planned import LookAtAws, LookHere, Planned
from provisioning.testbeds.aws.readiness.refusals import unanswered
from provisioning.testbeds.aws.session import session
from provisioning.testbeds.finding import Finding

HERE: tuple[LookHere, ...] = here.LOOKS
AT_AWS: tuple[LookAtAws, ...] = (*account.LOOKS, *permissions.LOOKS, *hosts.LOOKS, *report.LOOKS)


def look_around(planned: Planned) -> tuple[Finding, ...]:
    """Every line. It raises nothing for what AWS refuses or doesn't answer."""
    found = [each.look(planned) for each in HERE]
    try:
        opened = session(planned.shape.region)
    except MissingRequirement as error:
        first, *others = AT_AWS
        found.append(Finding(first.need, False, str(error), error.next_step))
        return (
            *found,
            *(Finding(each.need, None, "not known: AWS was not asked, for want of credentials") for each in others),
        )
    for each in AT_AWS:
        try:
            found.append(each.look(planned, opened))
        except (ClientError, BotoCoreError) as error:
            found.append(unanswered(each.need, error))
    return tuple(found)
