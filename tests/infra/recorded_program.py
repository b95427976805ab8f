"""The unchanged Pulumi program with the engine replaced by a recorder: what it registers, options included. Nothing is created.

Imported by tests (`record`), and by a server of theirs that forks a process for each run (`run`), as the engine runs a program: in
infra/, the project not on Python's path, warnings not errors. The mocks of the SDK check no property; the strict provider double does.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import runpy
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grpc
import pulumi
import pulumi.runtime
import pulumi.runtime.mocks as mocks
import yaml
from google.protobuf.json_format import MessageToDict  # type: ignore[import-untyped]  # ships no types
from pulumi.runtime import run_in_stack
from pulumi.runtime.settings import SETTINGS, set_root_resource

if TYPE_CHECKING:
    from tests.infra.program_forks import Forks

ROOT = Path(__file__).resolve().parents[2]
SECRET_SIGNATURE = "4dabf18193072939515e22adb298388d"
OPTIONS = ("ignoreChanges", "replacementTrigger", "retainOnDelete", "protect", "deleteBeforeReplace", "customTimeouts")
SEED = "5a" * 32


@dataclass(frozen=True)
class Registered:
    """One resource as the program registered it: raw inputs (secrets still wrapped), and the options it was given."""

    type: str
    name: str
    inputs: Mapping[str, Any]
    options: Mapping[str, Any]
    provider: str
    dependencies: tuple[str, ...]


@dataclass(frozen=True)
class Recording:
    """A whole run: what was registered, the stack's outputs, or the one message by which the program refused."""

    resources: tuple[Registered, ...]
    outputs: Mapping[str, Any]
    error: str
    warnings: tuple[str, ...]

    def of_type(self, kind: str) -> dict[str, Registered]:
        """Resources by logical name, of the type that ends so ("ec2/instance:Instance")."""
        return {each.name: each for each in self.resources if each.type.endswith(kind)}


def preset(stack: str, folder: Path, **changes: Any) -> dict[str, Any]:
    """A preset's config with what an operator adds to it, and `changes` (None removes a key)."""
    config = {
        key.removeprefix("samebox:"): value
        for key, value in yaml.safe_load((ROOT / f"infra/presets/{stack}.yaml").read_text())["config"].items()
    }
    key = folder / "operator_key"
    key.write_text("a private key\n")
    Path(f"{key}.pub").write_text("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPublic operator\n")
    now = datetime.now(UTC)
    config |= {
        "owner": "tester",
        "operatorCidr": "203.0.113.7/32",
        "identityFile": str(key),
        "created": f"{now:%Y-%m-%dT%H:%M:%SZ}",
        "expires": f"{now + timedelta(hours=8):%Y-%m-%dT%H:%M:%SZ}",
        "hostKeySeed": SEED,
    }
    return {key: value for key, value in {**config, **changes}.items() if value is not None}


def texts(config: Mapping[str, Any]) -> dict[str, str]:
    """Config values as the engine hands them to a program: text, tables as JSON."""
    return {key: json.dumps(value) if isinstance(value, dict | list) else str(value) for key, value in config.items()}


def record(
    config: Mapping[str, Any],
    *,
    stack: str = "smoke",
    images: tuple[str, ...] | None = None,
    deprecated: str | None = None,
    running: int = 0,
    old_engine: bool = False,
    offered: Mapping[str, Sequence[str]] | None = None,
    network: Mapping[str, Any] | None = None,
) -> Recording:
    """Runs the program in a process of its own; `images` are the AMIs that its region has (None: the configured one).

    `deprecated`: since when, in ISO 8601, they all are. `running`: how many hosts run with the configured one.
    `offered`: instance type -> the zones that have it; one that isn't there is in none.
    `old_engine`: the engine doesn't know the call that asks for its version. `network`: what lookups find of a given one.
    """
    request = {
        "deprecated": deprecated,
        "running": running,
        "old_engine": old_engine,
        "offered": dict(offered or {}),
        "network": network,
        "config": {f"samebox:{key}": text for key, text in texts(config).items()},
        "stack": stack,
        "images": [config.get("ami")] if images is None else list(images),
    }
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PULUMI", "AWS"))
    }
    answer = forks().run(request, environment)
    resources = tuple(
        Registered(**{**each, "dependencies": tuple(each["dependencies"])}) for each in answer["resources"]
    )
    return Recording(resources, answer["outputs"], answer["error"], tuple(answer["warnings"]))


@cache
def forks() -> Forks:
    """The server that runs the program for this process."""
    from tests.infra import program_forks  # not at the server's: there this module is the one that is imported

    command = [sys.executable, "-W", "ignore", str(program_forks.__file__), Path(__file__).stem]
    return program_forks.Forks(command, ROOT / "infra")


class _Cloud(mocks.Mocks):
    """Answers with the inputs and the computed properties that the program reads."""

    def __init__(self, request: Mapping[str, Any]) -> None:
        self._images, self._deprecated, self._running = request["images"], request["deprecated"], request["running"]
        self._offered = request["offered"]
        self._network: Mapping[str, Any] = request["network"] or {}
        self._instances = 0

    def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str, dict[str, Any]]:
        state = {"arn": f"arn:aws:mock:::{args.name}", "name": f"{args.name}-0a1b2c3", **args.inputs}
        if args.typ == "aws:ec2/instance:Instance":
            self._instances += 1
            state |= {"publicIp": f"198.51.100.{self._instances}", "privateIp": f"10.20.1.{self._instances}"}
        if args.typ == "aws:s3/bucket:Bucket":
            state["bucket"] = f"{args.name}-0a1b2c3"
        if args.typ == "aws:ec2/vpcEndpoint:VpcEndpoint":
            state["prefixListId"] = "pl-68a54001"
        if args.typ == "aws:ec2/keyPair:KeyPair":
            state["keyName"] = f"{args.name}-0a1b2c3"
        return f"{args.name}-id", state

    def call(self, args: mocks.MockCallArgs) -> tuple[dict[str, Any], list[tuple[str, str]]]:
        if args.token == "aws:ec2/getInstances:getInstances":
            return {"ids": [f"i-{at}" for at in range(self._running)]}, []
        if args.token == "aws:ec2/getInstanceTypeOfferings:getInstanceTypeOfferings":
            (kind,) = next(each["values"] for each in args.args["filters"] if each["name"] == "instance-type")
            return {"locations": self._offered.get(kind, [])}, []
        if self._network and args.token != "aws:ec2/getAmi:getAmi":
            found = self._looked_up(args.token.rpartition(":")[2], args.args)
            return found or {}, [] if found else [("", "no matching thing found")]
        assert args.token == "aws:ec2/getAmi:getAmi", args.token
        (wanted,) = next(each["values"] for each in args.args["filters"] if each["name"] == "image-id")
        if wanted not in self._images or (self._deprecated and not args.args.get("includeDeprecated")):
            return {}, [("", "Your query returned no results. Please change your search criteria and try again.")]
        architecture = "arm64" if wanted.startswith("ami-a4") else "x86_64"
        return {"id": wanted, "architecture": architecture, "deprecationTime": self._deprecated or ""}, []

    def _looked_up(self, what: str, asked: Mapping[str, Any]) -> dict[str, Any] | None:
        """Of the given network."""
        network = self._network
        if what == "getRouteTable":
            found = network["table_of_subnet"] or "subnetId" not in asked
            return {"id": "rtb-0", "routeTableId": "rtb-0", "routes": network["routes"]} if found else None
        answers: dict[str, dict[str, Any] | None] = {
            "getVpc": {"id": asked.get("id"), **network["vpc"]},
            "getPrefixList": {"id": "pl-68a54001"},
            "getSubnet": network["subnets"].get(asked.get("id")),
        }
        return answers[what]


class _Recorder(mocks.MockMonitor):
    """Keeps the raw requests: the SDK's mocks show neither options nor secrets, and let one name be used twice."""

    def __init__(self, cloud: _Cloud) -> None:
        super().__init__(cloud)
        self.requests: dict[tuple[str, str], dict[str, Any]] = {}
        self.outputs: dict[str, Any] = {}

    def RegisterResource(self, request: Any) -> Any:
        if request.type == "pulumi:pulumi:Stack":
            return super().RegisterResource(request)  # type: ignore[no-untyped-call]
        key = (request.type, request.name)
        assert key not in self.requests, f"registered twice: {key}"
        raw = MessageToDict(request)
        self.requests[key] = {
            "type": request.type,
            "name": request.name,
            "inputs": raw.get("object", {}),
            "options": {name: raw[name] for name in OPTIONS if raw.get(name)},
            "provider": request.provider,
            "dependencies": sorted(request.dependencies),
        }
        return super().RegisterResource(request)  # type: ignore[no-untyped-call]

    def RegisterResourceOutputs(self, request: Any) -> Any:
        if "pulumi:pulumi:Stack::" in request.urn:
            self.outputs |= MessageToDict(request.outputs)
        return super().RegisterResourceOutputs(request)  # type: ignore[no-untyped-call]


class _Warnings(logging.Handler):
    """What the program warns of, where the engine would show it."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


class _UnknownCall(grpc.RpcError):  # type: ignore[misc]  # ships no types
    """What an engine says of a call that it doesn't know."""

    def code(self) -> grpc.StatusCode:
        return grpc.StatusCode.UNIMPLEMENTED


class _Engine(mocks.MockEngine):
    """Of the version that the program asks for, or too old to be asked."""

    def __init__(self, logger: logging.Logger, old: bool) -> None:
        super().__init__(logger)
        self._old = old

    def RequirePulumiVersion(self, request: Any) -> None:
        del request
        if self._old:
            raise _UnknownCall


def _program() -> None:
    runpy.run_path(str(ROOT / "infra"), run_name="__main__")


def run(request: dict[str, Any]) -> dict[str, Any]:
    """Runs the program as a request says; what it did."""
    cloud = _Cloud(request)
    recorder, warnings = _Recorder(cloud), _Warnings()
    logger = logging.Logger("the program")
    logger.addHandler(warnings)
    mocks.set_mocks(cloud, project="samebox", stack=request["stack"], logger=logger, monitor=recorder)
    SETTINGS.engine = _Engine(logger, request["old_engine"])
    pulumi.runtime.set_all_config(request["config"], ["samebox:hostKeySeed"])
    set_root_resource(None)  # type: ignore[arg-type]  # the mocks' own stack is finished already: exports would go nowhere
    error = ""
    try:
        asyncio.get_event_loop().run_until_complete(run_in_stack(_program))
    except pulumi.RunError as refused:
        error = str(refused)
    return {
        "resources": list(recorder.requests.values()),
        "outputs": recorder.outputs,
        "error": error,
        "warnings": warnings.messages,
    }
