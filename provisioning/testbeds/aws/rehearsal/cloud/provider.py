"""A strict double of Pulumi's aws provider: the real engine's protocol, the SDK's own schema, and moto in the place of AWS.

It stands on PATH as `pulumi-resource-aws` and refuses to talk to anything that isn't on this machine. What the schema or
the rules forbid fails in Check, in a preview already; what it doesn't support fails too.
"""
# ruff: noqa: ARG002 (the protocol fixes what its methods are given)

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import ipaddress
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent import futures
from typing import Any, NoReturn, TypeVar
from urllib.parse import urlsplit

import grpc
from botocore.exceptions import BotoCoreError, ClientError
from google.protobuf import empty_pb2
from pulumi.runtime.proto import plugin_pb2, provider_pb2, provider_pb2_grpc

from provisioning.testbeds.aws.rehearsal.cloud import instances, network, services
from provisioning.testbeds.aws.rehearsal.cloud.kinds import Aws, Kind, is_gone
from provisioning.testbeds.aws.rehearsal.cloud.lookups import LOOKUPS
from provisioning.testbeds.aws.rehearsal.cloud.rules import rule_failures
from provisioning.testbeds.aws.rehearsal.cloud.schema import (
    Failure,
    lookup_failures,
    provider_failures,
    resource_failures,
)
from provisioning.testbeds.aws.rehearsal.cloud.values import Properties, closed, opened

KINDS: Mapping[str, Kind] = {
    **network.KINDS,
    **instances.KINDS,
    **services.KINDS,
}
TAGS = frozenset({"tags", "tagsAll"})
MAPS = TAGS | {"volumeTags"}
NAME_END_LENGTH = 7
PARENT_CHECK_S = 0.5
_Answer = TypeVar("_Answer")


class AwsDouble(provider_pb2_grpc.ResourceProviderServicer):
    """The provider's calls, as the engine makes them."""

    def __init__(self) -> None:
        self._aws = Aws(os.environ.get("AWS_REGION", ""), {})

    def GetPluginInfo(self, request: Any, context: grpc.ServicerContext) -> Any:
        """The version of the SDK whose schema is in force."""
        return plugin_pb2.PluginInfo(version=importlib.metadata.version("pulumi_aws"))

    def CheckConfig(self, request: Any, context: grpc.ServicerContext) -> Any:
        """The provider's own configuration."""
        return _checked(request.news, provider_failures(opened(request.news)))

    def DiffConfig(self, request: Any, context: grpc.ServicerContext) -> Any:
        """A change of configuration changes no resource."""
        return provider_pb2.DiffResponse(changes=provider_pb2.DiffResponse.DIFF_NONE)

    def Configure(self, request: Any, context: grpc.ServicerContext) -> Any:
        """Region, default tags and the accounts that may be changed; credentials and endpoint come from the environment."""
        arguments = opened(request.args)
        default_tags = _structured(arguments.get("defaultTags")) or {}
        region = arguments.get("region") or os.environ.get("AWS_REGION", "")
        self._aws = Aws(region, default_tags.get("tags") or {})
        allowed = _structured(arguments.get("allowedAccountIds"))
        if allowed and self._aws.account not in allowed:
            _refuse(context, f"AWS account ID not allowed: {self._aws.account}")
        return provider_pb2.ConfigureResponse(acceptSecrets=False, supportsPreview=True, acceptResources=False)

    def Check(self, request: Any, context: grpc.ServicerContext) -> Any:
        """Everything that is wrong with a resource's inputs; completes its name."""
        token, inputs = _token(request.urn), opened(request.news)
        failures = resource_failures(token, inputs) or list(rule_failures(token, inputs))
        if not failures and token not in KINDS:
            failures = [Failure("", f"the provider double doesn't support {token}")]
        if failures:
            return _checked(request.news, failures)
        named = KINDS[token].auto_named
        if named and inputs.get(named) is None:
            # the old name as long as it is the same resource; a replacement is checked without one
            inputs[named] = opened(request.olds).get(named) or _unique(request)
        return _checked(closed(inputs), [])

    def Diff(self, request: Any, context: grpc.ServicerContext) -> Any:
        """What differs, and whether that needs another resource."""
        kind, olds, news = KINDS[_token(request.urn)], opened(request.old_inputs), opened(request.news)
        ignored = set(request.ignoreChanges)
        changed = sorted(path for path in _changed(olds, news) if path.split(".")[0] not in ignored)
        in_place = kind.in_place | (TAGS if kind.retag else frozenset())
        return provider_pb2.DiffResponse(
            changes=provider_pb2.DiffResponse.DIFF_SOME if changed else provider_pb2.DiffResponse.DIFF_NONE,
            replaces=[path for path in changed if path not in in_place],
            diffs=changed,
        )

    def Create(self, request: Any, context: grpc.ServicerContext) -> Any:
        """Makes the resource; in a preview, what is computed stays unknown."""
        kind, inputs = KINDS[_token(request.urn)], opened(request.properties)
        if request.preview:
            return provider_pb2.CreateResponse(id="", properties=request.properties)
        created = _attempt(context, request.urn, lambda: kind.create(self._aws, inputs))
        outputs = {**inputs, **created.outputs, "id": created.id, **self._all_tags(kind, inputs)}
        return provider_pb2.CreateResponse(id=created.id, properties=closed(outputs))

    def Read(self, request: Any, context: grpc.ServicerContext) -> Any:
        """Whether the resource is still there."""
        kind, state = KINDS[_token(request.urn)], opened(request.properties)
        there = _attempt(context, request.urn, lambda: _exists(kind, self._aws, request.id, state))
        if not there:
            return provider_pb2.ReadResponse(id="")
        return provider_pb2.ReadResponse(id=request.id, properties=request.properties, inputs=request.inputs)

    def Update(self, request: Any, context: grpc.ServicerContext) -> Any:
        """Changes the resource where it is."""
        kind, state, news = KINDS[_token(request.urn)], opened(request.olds), opened(request.news)
        tags = self._aws.tags(news)

        def change() -> None:
            if kind.update:
                kind.update(self._aws, request.id, news)
            if kind.retag and tags != (state.get("tagsAll") or {}):
                kind.retag(self._aws, request.id, state, tags)

        if not request.preview:
            _attempt(context, request.urn, change)
        return provider_pb2.UpdateResponse(properties=closed({**state, **news, **self._all_tags(kind, news)}))

    def Delete(self, request: Any, context: grpc.ServicerContext) -> Any:
        """Removes the resource; one that is gone already is fine."""
        kind, state = KINDS[_token(request.urn)], opened(request.properties)

        def delete() -> None:
            try:
                kind.delete(self._aws, request.id, state)
            except ClientError as error:
                if not is_gone(error):
                    raise

        _attempt(context, request.urn, delete)
        return empty_pb2.Empty()

    def Invoke(self, request: Any, context: grpc.ServicerContext) -> Any:
        """A lookup."""
        arguments = opened(request.args)
        failures = lookup_failures(request.tok, arguments)
        if not failures and request.tok not in LOOKUPS:
            failures = [Failure("", f"the provider double doesn't support {request.tok}")]
        if failures:
            return provider_pb2.InvokeResponse(failures=[_failure(each) for each in failures])
        found = _attempt(context, request.tok, lambda: LOOKUPS[request.tok](self._aws, arguments))
        return provider_pb2.InvokeResponse(**{"return": closed(found)})

    def Cancel(self, request: Any, context: grpc.ServicerContext) -> Any:
        """Calls under way finish: each is short."""
        return empty_pb2.Empty()

    def _all_tags(self, kind: Kind, inputs: Properties) -> Properties:
        return {"tagsAll": self._aws.tags(inputs)} if kind.retag else {}


def serve() -> tuple[grpc.Server, int]:
    """A server of the provider on a free port of 127.0.0.1."""
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=16))
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(AwsDouble(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    return server, port


def main() -> None:
    """Prints the port and serves until the engine, however it ends, has ended."""
    host = urlsplit(os.environ.get("AWS_ENDPOINT_URL", "")).hostname or ""
    try:
        local = ipaddress.ip_address(host).is_loopback
    except ValueError:
        local = False
    if not local:
        sys.exit("pulumi-resource-aws is a test double here and AWS_ENDPOINT_URL isn't a loopback address.")
    engine = os.getppid()
    server, port = serve()
    print(port, flush=True)
    with contextlib.suppress(KeyboardInterrupt):  # how the engine ends it
        while (
            server.wait_for_termination(PARENT_CHECK_S) and os.getppid() == engine
        ):  # True: the time is over, it serves
            pass


def _structured(value: Any) -> Any:
    """A provider's own configuration has its lists and objects as JSON."""
    return json.loads(value) if isinstance(value, str) else value


def _token(urn: str) -> str:
    return urn.split("::")[2].split("$")[-1]


def _changed(olds: Properties, news: Properties) -> Iterator[str]:
    """The properties that differ; of an object that was and is there, the properties inside it."""
    for key in set(olds) | set(news):
        old, new = olds.get(key), news.get(key)
        if old == new:
            continue
        if isinstance(old, dict) and isinstance(new, dict) and key not in MAPS:
            yield from (f"{key}.{inner}" for inner in set(old) | set(new) if old.get(inner) != new.get(inner))
        else:
            yield key


def _unique(request: Any) -> str:
    end = hashlib.sha256(request.randomSeed).hexdigest()[:NAME_END_LENGTH]
    return f"{request.urn.split('::')[-1]}-{end}"


def _exists(kind: Kind, aws: Aws, resource_id: str, state: Properties) -> bool:
    try:
        return bool(kind.exists(aws, resource_id, state))
    except ClientError as error:
        if is_gone(error):
            return False
        raise


def _checked(inputs: Any, failures: list[Failure]) -> Any:
    return provider_pb2.CheckResponse(inputs=inputs, failures=[_failure(each) for each in failures])


def _failure(failure: Failure) -> Any:
    reason = f"{failure.path}: {failure.reason}" if failure.path else failure.reason
    return provider_pb2.CheckFailure(property=failure.path, reason=reason)


def _attempt(context: grpc.ServicerContext, what: str, call: Callable[[], _Answer]) -> _Answer:
    try:
        return call()
    except (ClientError, BotoCoreError, LookupError, NotImplementedError) as error:
        _refuse(context, f"{what.split('::')[-1]}: {error}")


def _refuse(context: grpc.ServicerContext, message: str) -> NoReturn:
    context.abort(grpc.StatusCode.UNKNOWN, message)
    raise AssertionError("abort raises")


if __name__ == "__main__":
    main()
