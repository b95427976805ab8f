"""What AWS answers where moto answers something else: launches, images, quotas, what can't be deleted, bucket policies."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from moto.core.responses import ActionResult
from moto.ec2.exceptions import EC2ClientError, InvalidAMIIdError
from moto.ec2.models import EC2Backend
from moto.ec2.models.instances import Instance
from moto.ec2.responses import EC2Response
from moto.iam.access_control import IAMPolicy, PermissionResult
from moto.iam.responses import IamResponse
from moto.s3.models import FakeBucket
from moto.servicequotas.models import ServiceQuotasBackend

from provisioning.testbeds.aws.rehearsal.cloud.moto_patches import added_to, instead_of
from provisioning.testbeds.aws.rehearsal.cloud.placement_groups import require_group

# Amazon Linux 2023's: al2023-ami-2023.8.20250908 was made on 2025-09-06 and deprecated on 2025-12-05
IMAGE_LIFE = timedelta(days=90)
# running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances, in vCPUs: an account on which every preset fits
EC2_QUOTAS = {"L-1216C47A": 512.0}
# the double's plain HTTP stands for the TLS that every client of AWS speaks
KNOWN_CONDITIONS = {"aws:SecureTransport": "true"}
OF_EMR = "ElasticMapReduce"
# told of every new instance before the caller is, and of every one that ends or stops, by id, before it does
LAUNCHED: list[Callable[[Any], None]] = []
ENDING: list[Callable[[str], None]] = []
_lock = threading.Lock()


@instead_of(EC2Response)
def run_instances(moto: Any, self: Any) -> Any:
    """A repeated client token launches nothing more, and placement groups are known."""
    group = self._get_param("Placement.GroupName")
    if group:
        require_group(self.ec2_backend, group)
    if self._get_param("ImageId") in self.ec2_backend.deleted_amis:
        raise InvalidAMIIdError([self._get_param("ImageId")])
    with _lock:  # moto's models aren't made for calls at the same time
        token, launches = self._get_param("ClientToken"), self.ec2_backend.__dict__.setdefault("launches", {})
        if token in launches:
            return launches[token]
        result = moto(self)
        for instance in result.result.instances:
            instance.placement.group_name = group or ""
        if token:
            launches[token] = result
    for instance in result.result.instances:
        for tell in LAUNCHED:
            tell(instance)
    return result


@instead_of(Instance)
def terminate(moto: Any, self: Any) -> Any:
    """A host ends with its instance."""
    for tell in ENDING:
        tell(self.id)
    return moto(self)


@instead_of(Instance)
def stop(moto: Any, self: Any) -> Any:
    """A host that has stopped is started by nobody here."""
    return terminate(moto, self)


@instead_of(EC2Response)
def describe_images(moto: Any, self: Any) -> ActionResult:
    """A deprecated image is found by its id, or by a search that includes deprecated ones, and by no other; it launches as before.

    https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ami-deprecate.html
    """
    now = datetime.now(UTC)
    named = self._get_param("ImageIds", [])
    every = self._get_bool_param("IncludeDeprecated", False)
    images = []
    for image in moto(self).result["Images"]:
        end = image.creation_date.replace(tzinfo=UTC) + IMAGE_LIFE if image.owner_alias == "amazon" else None
        image.deprecation_time = f"{end:%Y-%m-%dT%H:%M:%S.000Z}" if end else None
        if every or image.id in named or end is None or now < end:
            images.append(image)
    return ActionResult({"Images": images})


@instead_of(ServiceQuotasBackend)
def get_service_quota(moto: Any, self: Any, service_code: str, quota_code: str) -> dict[str, Any]:
    """moto has no quota of EC2's vCPUs."""
    if service_code != "ec2" or quota_code not in EC2_QUOTAS:
        found: dict[str, Any] = moto(self, service_code, quota_code)
        return found
    return {"ServiceCode": service_code, "QuotaCode": quota_code, "Value": EC2_QUOTAS[quota_code], "Unit": "None"}


@added_to(IamResponse)
def simulate_principal_policy(self: Any) -> ActionResult:
    """The operator of this cloud may do everything."""
    asked = self._get_params()
    answers = [
        {"EvalActionName": action, "EvalResourceName": resource, "EvalDecision": "allowed"}
        for action in asked["ActionNames"]
        for resource in asked["ResourceArns"]
    ]
    return ActionResult({"EvaluationResults": answers, "IsTruncated": False})


@instead_of(EC2Backend)
def delete_subnet(moto: Any, self: Any, subnet_id: str) -> Any:
    """Not while a network interface stands in it."""
    if any(each.subnet.id == subnet_id for each in _interfaces(self)):
        raise EC2ClientError("DependencyViolation", f"The subnet '{subnet_id}' has dependencies and cannot be deleted.")
    return moto(self, subnet_id)


@instead_of(EC2Backend)
def delete_security_group(moto: Any, self: Any, name: str | None = None, group_id: str | None = None) -> Any:
    """Not while a network interface stands behind it."""
    if any(group_id == group.id for each in _interfaces(self) for group in each.group_set):
        raise EC2ClientError("DependencyViolation", f"resource {group_id} has a dependent object")
    return moto(self, name, group_id)


@instead_of(EC2Backend)
def get_all_network_interfaces(moto: Any, self: Any, *asked: Any, **named: Any) -> Any:
    """Without those of instances that have ended."""
    let_go(self, sorted(set(self.enis) - {each.id for each in _interfaces(self)}))
    return moto(self, *asked, **named)


def hold_network(ec2: Any, cluster: Any) -> list[str]:
    """Gives a cluster an interface behind each of its security groups: primary, core, in a private subnet the EMR service's own.

    They hold the subnet and the groups from the cluster's start to its end. Returns their ids.
    """
    groups = (cluster.master_security_group, cluster.slave_security_group, cluster.service_access_security_group)
    if not cluster.ec2_subnet_id:
        return []
    return [
        ec2.create_network_interface(
            cluster.ec2_subnet_id, "", group_ids=[group], description=f"{OF_EMR}-{cluster.id}"
        ).id
        for group in dict.fromkeys(groups)
        if group
    ]


def let_go(ec2: Any, interfaces: list[str]) -> None:
    """Takes interfaces away; those that somebody else has taken away are fine."""
    for each in interfaces:
        ec2.enis.pop(each, None)


def _interfaces(ec2: Any) -> Iterator[Any]:
    """Those that there are: the interface of an instance that has ended is gone, although moto keeps it."""
    for each in list(ec2.enis.values()):
        if each.instance is None or each.instance.state != "terminated":
            yield each


@instead_of(FakeBucket)
def get_permission(moto: Any, self: Any, action: str, resource: str) -> Any:
    """S3 passes over a statement whose condition isn't met, where moto denies. Raises ValueError for conditions unknown here."""
    del moto
    statements = json.loads(self.policy)["Statement"] if self.policy is not None else []
    applying = [
        {name: value for name, value in statement.items() if name != "Condition"}
        for statement in statements
        if _met(statement.get("Condition", {}))
    ]
    if not applying:
        return PermissionResult.NEUTRAL
    return IAMPolicy(json.dumps({"Statement": applying})).is_action_permitted(action, resource)


def _met(conditions: Mapping[str, Mapping[str, str]]) -> bool:
    unknown = [kind for kind in conditions if kind != "Bool"]
    unknown += [key for keys in conditions.values() for key in keys if key not in KNOWN_CONDITIONS]
    if unknown:
        raise ValueError(f"this cloud can't judge a bucket policy's {', '.join(unknown)}")
    wanted = [pair for keys in conditions.values() for pair in keys.items()]
    return all(str(value).lower() == KNOWN_CONDITIONS[key] for key, value in wanted)
