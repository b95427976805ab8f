"""Why a stack couldn't be changed: Pulumi's and AWS's messages told apart, in a sentence, with what to do next.

Capacity (AWS has no such machine free just now) and quota (the account may not have so many) look alike and need opposite answers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from provisioning.errors import SameboxError

Kind = Literal[
    "busy",
    "capacity",
    "quota",
    "not offered",
    "image",
    "credentials",
    "permission",
    "account",
    "lock",
    "no stack",
    "state cut off",
    "login",
    "passphrase",
    "plugin",
    "in use",
    "other",
]

EVIDENCE_CHARACTERS = 1500


@dataclass(frozen=True)
class Rule:
    """One kind of failure: a regular expression for its message, the sentence for people, what to do. `{stack}`: the stack's name."""

    kind: Kind
    pattern: str
    sentence: str
    next_step: str


# In this order: the first that matches is it. RequestLimitExceeded must not be taken for a quota.
RULES: tuple[Rule, ...] = (
    Rule(
        "lock",
        r"currently locked by \d+ lock|Another update is currently in progress|\[409\] Conflict: .*in progress",
        "stack {stack} is locked: another pulumi is working on it, or was killed before it could unlock it.",
        "Wait until it has ended. If the process named above is gone: `pulumi cancel {stack}`, then "
        "`samebox sweep --stack {stack} --orphans` (a killed pulumi may leave a machine that no stack knows), then the same command "
        "again.",
    ),
    Rule(
        "no stack",
        r"no stack named '[^']*' found",
        "there is no stack {stack} in this backend.",
        "`pulumi stack init {stack}` makes it; `pulumi stack ls` and `pulumi whoami -v` show what is there, and where.",
    ),
    Rule(
        "state cut off",
        r"(?m)failed to load checkpoint: EOF|^(?:error: )?EOF$",
        "the state of stack {stack} can't be read: a pulumi that keeps it in files was killed while it wrote one.",
        "`pulumi whoami -v` names the folder. In its .pulumi/stacks/samebox, remove the file {stack}.json.attrs if it is empty: "
        "{stack}.json itself is whole. Then the same command again.",
    ),
    Rule(
        "login",
        r"PULUMI_ACCESS_TOKEN must be set|not logged in|aren't logged into|this command requires logging in",
        "pulumi doesn't know where to keep the stack's state.",
        "`pulumi login --local` keeps it on this machine; or set PULUMI_BACKEND_URL, or PULUMI_ACCESS_TOKEN.",
    ),
    Rule(
        "passphrase",
        r"passphrase must be set with PULUMI_CONFIG_PASSPHRASE|incorrect passphrase|get stack secrets manager",
        "pulumi needs the passphrase that stack {stack} was made with.",
        "Set PULUMI_CONFIG_PASSPHRASE (it may be empty), or PULUMI_CONFIG_PASSPHRASE_FILE.",
    ),
    Rule(
        "plugin",
        r"no resource plugin '[^']*' found|no language plugin '[^']*' found|failed to load (?:resource|language) plugin",
        "pulumi lacks a plugin.",
        "With internet: `pulumi plugin install resource aws`. pulumi-language-python must lie beside pulumi or on the PATH: "
        "install Pulumi whole, as https://www.pulumi.com/docs/install says.",
    ),
    Rule(
        "busy",
        r"RequestLimitExceeded|Throttling|Rate exceeded|SlowDown",
        "AWS got too many requests in too short a time.",
        "Wait a minute, then run the same command again; what was made is kept.",
    ),
    Rule(
        "capacity",
        r"InsufficientInstanceCapacity|InsufficientHostCapacity|InsufficientReservedInstanceCapacity|InsufficientCapacity"
        r"|do not have sufficient \S+ capacity",
        "AWS has no capacity for this machine in this zone right now; it isn't a limit of your account.",
        "Try again later (minutes to hours; `samebox campaign aws --wait-for-capacity MINUTES` does), or take the stack down and set "
        "another zone: `pulumi config set availabilityZone ZONE --stack {stack}`, or `any`. All hosts stand in one zone, so one can't "
        "move alone. docs/aws.md, Capacity, has more.",
    ),
    Rule(
        "not offered",
        r"\bUnsupported\b.*(?:not supported in your requested Availability Zone|instance type)",
        "this zone doesn't have the instance type at all.",
        "`pulumi config set availabilityZone ZONE --stack {stack}` with one of the zones named above.",
    ),
    Rule(
        "image",
        r"InvalidAMIID\.(?:NotFound|Unavailable)|samebox:ami \S+ doesn't exist",
        "the image of the stack's hosts is no longer available, or not in this region.",
        "Pin one that is there (docs/aws.md, How long an image lives). It replaces every host: take down first what is up, and "
        "measure anew what is to be compared.",
    ),
    Rule(
        "quota",
        r"VcpuLimitExceeded|InstanceLimitExceeded|vCPU limit|\w*LimitExceeded|ServiceQuotaExceeded|TooManyBuckets"
        r"|exceeded the maximum number|MaxSpotInstanceCountExceeded",
        "your account's quota is too small; waiting doesn't help.",
        "Ask for more in Service Quotas (for hosts: EC2, 'Running On-Demand Standard instances', L-1216C47A, counted in vCPUs), "
        "or end what else runs in this region. A replacement needs room for one host more than the testbed has.",
    ),
    Rule(
        "account",
        r"OptInRequired|PendingVerification|not subscribed to this service",
        "AWS hasn't enabled this account for it yet.",
        "Finish the account's verification in the AWS console, then run the same command again.",
    ),
    Rule(
        "credentials",
        r"InvalidClientTokenId|ExpiredToken|RequestExpired|AuthFailure|SignatureDoesNotMatch|UnrecognizedClient"
        r"|[Nn]o valid credential|NoCredentialProviders|failed to refresh cached credentials|security token .*(?:invalid|expired)"
        r"|Error loading SSO Token|Unable to locate credentials",
        "AWS doesn't accept these credentials: they are missing, wrong or have expired.",
        "Sign in anew (`aws sso login`), or set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; "
        "`aws sts get-caller-identity` must answer. What was made is kept.",
    ),
    Rule(
        "permission",
        r"UnauthorizedOperation|AccessDenied|is not authorized to perform",
        "these credentials are valid but may not do this.",
        "Give them the policy infra/operator-policy.json (docs/aws.md, Permissions; the action is named above), then type the same "
        "command again.",
    ),
    Rule(
        "in use",
        r"InvalidPlacementGroup\.InUse|DependencyViolation",
        "something that stack {stack} doesn't know of uses what was to be deleted.",
        "`samebox sweep --stack {stack} --orphans` names it, and with --delete ends it; then the same command again.",
    ),
)


class StackFailed(SameboxError):
    """A stack couldn't be previewed, changed or destroyed. `kind` says why; the message ends with the evidence."""

    def __init__(self, kind: Kind, message: str, *, next_step: str = "") -> None:
        super().__init__(message, next_step=next_step)
        self.kind = kind


def explain(action: str, stack: str, evidence: Sequence[str]) -> StackFailed:
    """The error for a failed `action` ("pulumi up"); `evidence` is what was printed, most telling first."""
    lines = [text for text in (_readable(one) for one in evidence) if text]
    text = "\n".join(dict.fromkeys(lines))
    shown = text[:EVIDENCE_CHARACTERS] + (" ..." if len(text) > EVIDENCE_CHARACTERS else "")
    for rule in RULES:
        if re.search(rule.pattern, text):
            sentence = rule.sentence.replace("{stack}", stack)
            message = f"{action} failed: {sentence}\n{shown}"
            return StackFailed(rule.kind, message, next_step=rule.next_step.replace("{stack}", stack))
    message = f"{action} failed.\n{shown}" if shown else f"{action} failed and said nothing."
    next_step = (
        f"Fix what it names and run the same command again; `pulumi preview --stack {stack}` shows the whole of it."
    )
    return StackFailed("other", message, next_step=next_step)


COLOUR = re.compile(r"<\{%.*?%\}>|\x1b\[[0-9;]*m")


def without_colour(text: str) -> str:
    """The text without the engine's marks and a terminal's codes for colours."""
    return COLOUR.sub("", text)


ENCODED = re.compile(r"(Encoded authorization failure message: )\S+")


def _readable(text: str) -> str:
    """Without colours, without a Python traceback before its last line, without what AWS encodes for itself."""
    text = ENCODED.sub(r"\1...", without_colour(text)).strip()
    if "Traceback (most recent call last)" in text:
        text = text.splitlines()[-1].strip()
    return text.removeprefix("error: ")


ACCESS_KEY = re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{12,}\b")
SECRET_VARIABLES = (
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "PULUMI_ACCESS_TOKEN",
    "PULUMI_CONFIG_PASSPHRASE",
)
SHORTEST_SECRET = 6


def masked(text: str, environment: Mapping[str, str]) -> str:
    """The text without access keys and without the values of the environment's secret variables."""
    for variable in SECRET_VARIABLES:
        value = environment.get(variable, "")
        if len(value) >= SHORTEST_SECRET:
            text = text.replace(value, "***")
    return ACCESS_KEY.sub("***", text)
