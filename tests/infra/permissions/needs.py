"""The operator's policy, and everything that it is needed for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from provisioning.testbeds.aws.rehearsal.iam.asks import asks_of
from provisioning.testbeds.aws.rehearsal.iam.policy import Ask, Policy, read_policy
from provisioning.testbeds.aws.rehearsal.iam.reference import REGION, as_iam_has_it
from tests.infra.permissions.product import CALLS, COMMANDS, PROVIDER_BEYOND
from tests.infra.permissions.provider import recorded_calls, recorded_stack
from tests.infra.recorded_program import ROOT

POLICY_FILE = ROOT / "infra/operator-policy.json"
REGION_PLACEHOLDER = "<region>"
# recorded, and nothing that AWS would be asked for samebox: action -> why
NOT_ON_AWS: Mapping[str, str] = {
    "ec2:ModifyNetworkInterfaceAttribute": "moto tells no security groups of an instance that got them with its network "
    "interface, so that the provider sets them again; AWS tells them",
    "iam:GetUser": "the recording skipped the validation of credentials, by which the provider otherwise learns the account (sts)",
    "s3:DeleteBucketPolicy": "the recorded stack took its bucket away; samebox retains the bucket and all that protects it",
}


@dataclass(frozen=True)
class Need:
    """A question that must be answered yes, and whose it is."""

    by: str
    ask: Ask

    def __str__(self) -> str:
        return f"{self.by}: {self.ask}"


def operator_policy(region: str = REGION) -> Policy:
    """As `aws iam create-policy` gets it for a region."""
    return read_policy(POLICY_FILE.read_text().replace(REGION_PLACEHOLDER, region))


def condition_keys(policy: Policy) -> frozenset[str]:
    """What the conditions of a policy ask for."""
    return frozenset(condition.key for each in policy.statements for condition in each.conditions)


def provider_needs() -> Iterator[Need]:
    """Of all recorded calls but those that AWS isn't asked."""
    for call in recorded_calls():
        if call.action not in NOT_ON_AWS:
            yield from (
                Need(f"the provider, {call.operation}", as_iam_has_it(ask, REGION))
                for ask in asks_of(call, recorded_stack())
            )


def product_needs() -> Iterator[Need]:
    """Of samebox's own calls, of the commands that it names, of what the provider does beyond the recording."""
    tables = {"samebox": CALLS, "typed: aws": COMMANDS, "the provider, when": PROVIDER_BEYOND}
    for who, table in tables.items():
        for what, asks in table.items():
            yield from (Need(f"{who} {what}", as_iam_has_it(ask, REGION)) for ask in asks)


def all_needs() -> tuple[Need, ...]:
    """Each once."""
    return tuple(dict.fromkeys([*provider_needs(), *product_needs()]))


def wanted_actions() -> frozenset[str]:
    """All actions that the reference must know: those that the policy spells out and those of all calls."""
    spelled = (
        action for statement in operator_policy().statements for action in statement.actions if "*" not in action
    )
    tables = (ask.action for table in (CALLS, COMMANDS, PROVIDER_BEYOND) for asks in table.values() for ask in asks)
    return frozenset([*spelled, *tables, *(call.action for call in recorded_calls())])
