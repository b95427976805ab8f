"""The evaluator answers as IAM does, and refuses what it doesn't know."""

from __future__ import annotations

import json
from typing import Any

import pytest

from provisioning.testbeds.aws.rehearsal.iam.policy import Ask, NotUnderstood, Policy, read_policy
from provisioning.testbeds.aws.rehearsal.iam.reference import reference

VPC = "arn:aws:ec2:us-west-2:123456789012:vpc/vpc-1"
RULE = "arn:aws:ec2:us-west-2:123456789012:security-group-rule/*"


def policy(**statement: Any) -> Policy:
    """One statement that allows everything but for what is said."""
    said = {"Sid": "Only", "Effect": "Allow", "Action": "*", "Resource": "*", **statement}
    return read_policy(json.dumps({"Version": "2012-10-17", "Statement": [said]}))


def test_actions_have_wildcards_and_no_case() -> None:
    """ec2:Describe* is ec2:describeVpcs, and not ec2:DeleteVpc."""
    held = policy(Action=["ec2:Describe*", "s3:GetObjec?"])
    assert held.allowing(Ask("ec2:describeVpcs")) == ("Only",)
    assert held.allowing(Ask("s3:GetObject"))
    assert not held.allowing(Ask("ec2:DeleteVpc"))
    assert not held.allowing(Ask("s3:GetObjectAcl"))


def test_resources_have_wildcards_across_slashes() -> None:
    """And an action without a resource is allowed by * alone."""
    held = policy(Resource=["arn:aws:s3:::samebox-*"])
    assert held.allowing(Ask("s3:GetObject", "arn:aws:s3:::samebox-x/a/b"))
    assert not held.allowing(Ask("s3:GetObject", "arn:aws:s3:::Samebox-x"))
    assert not held.allowing(Ask("s3:ListAllMyBuckets"))


def test_all_conditions_hold_with_one_of_their_values() -> None:
    """A key that IAM doesn't have fits no comparison."""
    held = policy(Condition={"StringEquals": {"a": ["1", "2"], "b": "3"}})
    assert held.allowing(Ask("x:y", context={"a": "2", "b": "3"}))
    assert not held.allowing(Ask("x:y", context={"a": "2", "b": "4"}))
    assert not held.allowing(Ask("x:y", context={"a": "2"}))


def test_null_asks_whether_a_key_is_there() -> None:
    """ "false": it must be; "true": it must not."""
    there, absent = policy(Condition={"Null": {"a": "false"}}), policy(Condition={"Null": {"a": "true"}})
    assert there.allowing(Ask("x:y", context={"a": ""}))
    assert not there.allowing(Ask("x:y"))
    assert absent.allowing(Ask("x:y"))
    assert not absent.allowing(Ask("x:y", context={"a": ""}))


def test_arns_are_compared_with_wildcards() -> None:
    """As ArnLike."""
    held = policy(Condition={"ArnEquals": {"iam:PolicyARN": "arn:aws:iam::aws:policy/*"}})
    assert held.allowing(Ask("x:y", context={"iam:PolicyARN": "arn:aws:iam::aws:policy/service-role/Emr"}))
    assert not held.allowing(Ask("x:y", context={"iam:PolicyARN": "arn:aws:iam::1:policy/Emr"}))


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        ({"Condition": {"StringLike": {"a": "b"}}}, "operator StringLike; understood are StringEquals"),
        ({"Condition": {"ForAnyValue:StringEquals": {"aws:TagKeys": "a"}}}, "ForAnyValue:StringEquals"),
        ({"Effect": "Deny"}, "expected an Allow"),
        ({"NotAction": "ec2:*"}, "NotAction"),
        ({"Resource": "arn:aws:iam::*:user/${aws:username}"}, "policy variables"),
    ],
)
def test_what_is_not_understood_is_an_error(statement: dict[str, Any], named: str) -> None:
    """Named with its statement; a wrong yes would be worse."""
    with pytest.raises(NotUnderstood, match=f"Only: .*{named}"):
        policy(**statement)


def test_two_statements_of_one_name_are_an_error() -> None:
    """Taking one away would take the other too."""
    statement = {"Sid": "Same", "Effect": "Allow", "Action": "*", "Resource": "*"}
    with pytest.raises(NotUnderstood, match="twice: Same, Same"):
        read_policy(json.dumps({"Version": "2012-10-17", "Statement": [statement, statement]}))


def test_iam_has_a_key_where_the_reference_says_so() -> None:
    """A rule that is being made has the request's tags and none of its own; a group that exists has its own."""
    context = {
        "aws:RequestTag/project": "samebox",
        "aws:ResourceTag/project": "samebox",
        "aws:RequestedRegion": "us-west-2",
    }
    of_rule = reference().as_iam_has_it(Ask("ec2:AuthorizeSecurityGroupIngress", RULE, context)).context
    of_group = (
        reference()
        .as_iam_has_it(Ask("ec2:AuthorizeSecurityGroupIngress", RULE.replace("-rule/*", "/sg-1"), context))
        .context
    )
    assert of_rule.keys() == {"aws:RequestTag/project", "aws:RequestedRegion"}
    assert of_group.keys() == {"aws:ResourceTag/project", "aws:RequestedRegion"}


def test_a_question_that_iam_would_not_ask_is_an_error() -> None:
    """Another type of resource, * where there are types, an action that isn't known."""
    with pytest.raises(ValueError, match="none of what ec2:DeleteSubnet is asked about: subnet"):
        reference().as_iam_has_it(Ask("ec2:DeleteSubnet", VPC))
    with pytest.raises(ValueError, match="ec2:DeleteVpc is asked about vpc"):
        reference().as_iam_has_it(Ask("ec2:DeleteVpc"))
    with pytest.raises(KeyError, match=r"ec2:DeleteVcp isn't in service_authorization\.json"):
        reference().as_iam_has_it(Ask("ec2:DeleteVcp", VPC))
