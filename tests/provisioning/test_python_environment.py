"""The client's Python environment: one set of versions, wheels for the host's own Python, nothing asked of the host's network."""

from __future__ import annotations

import ast
import json
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from bench.load.client_hosts import LOCK_FILE, client_environment, deploy_client
from provisioning.cache import user_cache
from provisioning.errors import HostError, MissingRequirement
from provisioning.hosts.host import ScriptedHost
from provisioning.hosts.inventory import HostRecord, SshAddress
from provisioning.hosts.ssh import SshHost
from provisioning.software import python_environment
from provisioning.software.delivery import digest_of
from provisioning.software.python_environment import (
    FACTS_COMMAND,
    REPOSITORY,
    Interpreter,
    code_files,
    download_wheels,
    interpreter_of,
    lock_digest,
)
from systems.registry import SYSTEMS

NULL_MODULE = "systems.null_client"  # of the generator's own floor
ALIKE = Interpreter("3.11", "x86_64", (2, 36))


def scripted(facts: dict[str, str]) -> ScriptedHost:
    """A client host with this Python."""
    ssh = SshAddress("127.0.0.1", 22, "operator", "ssh-ed25519 AAAA")
    record = HostRecord("client-1", "client", ssh, "127.0.0.1", "/box", (), "", "", 1)
    return ScriptedHost(record, answers={FACTS_COMMAND: json.dumps(facts)})


def pins(lock: Path) -> dict[str, tuple[str, set[str]]]:
    """Package -> version and hashes of a lock file."""
    found: dict[str, tuple[str, set[str]]] = {}
    for block in re.split(r"\n(?=[a-z0-9])", lock.read_text()):
        match = re.match(r"([a-z0-9._-]+)==(\S+)", block)
        if match:
            found[match[1]] = (match[2], set(re.findall(r"sha256:([0-9a-f]{64})", block)))
    return found


def test_clients_get_the_versions_of_the_repository() -> None:
    """What a worker runs with is what the operator's tests ran with; pip alone, which installs it, isn't ours."""
    ours, clients = pins(REPOSITORY / "requirements.lock"), pins(LOCK_FILE)
    assert {"confluent-kafka", "pulsar-client", "numpy", "pyarrow", "pip"} <= clients.keys()
    assert {name: pin[0] for name, pin in clients.items() if name != "pip"} == {
        name: ours[name][0] for name in clients if name != "pip"
    }
    assert all(hashes for _, hashes in clients.values())


def test_the_lock_names_no_index() -> None:
    """Where packages come from is the operator's own setting."""
    assert "://" not in LOCK_FILE.read_text()
    assert not re.search(r"^\s*(--(extra-)?index-url|--find-links|--trusted-host)", LOCK_FILE.read_text(), re.MULTILINE)


def test_reads_the_host_python() -> None:
    """Version, processor and C library decide the wheels."""
    host = scripted(
        {"executable": "/usr/bin/python3.11", "version": "3.11.2", "machine": "aarch64", "libc": "glibc 2.34"}
    )
    assert interpreter_of(host) == ("/usr/bin/python3.11", Interpreter("3.11", "aarch64", (2, 34)))


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        (
            {"executable": "/usr/bin/python3", "version": "3.9.16", "machine": "x86_64", "libc": "glibc 2.34"},
            "client-1: its Python is 3.9.16 (/usr/bin/python3); 3.11 is required",
        ),
        ({"executable": "/p", "version": "3.11.2", "machine": "x86_64", "libc": ""}, "its C library is unknown"),
    ],
)
def test_another_python_is_refused_by_its_version(facts: dict[str, str], message: str) -> None:
    """A host that can't run the workers is told before anything is sent to it."""
    with pytest.raises(HostError) as caught:
        interpreter_of(scripted(facts))
    assert message in str(caught.value)


def test_no_python_is_refused() -> None:
    """A host without any Python says what to install."""
    host = scripted({})
    host.answers[FACTS_COMMAND] = ""
    with pytest.raises(HostError, match="no Python") as caught:
        interpreter_of(host)
    assert "Install Python 3.11 on client-1" in caught.value.next_step


def test_wheel_platforms_are_no_newer_than_the_host() -> None:
    """A wheel built for a newer C library would fail at import, on the host, in the trial."""
    platforms = Interpreter("3.11", "x86_64", (2, 28)).platforms
    assert platforms[0] == "manylinux_2_28_x86_64"
    assert platforms[-2:] == ["manylinux_2_17_x86_64", "manylinux2014_x86_64"]
    assert "manylinux_2_29_x86_64" not in platforms


def test_the_wheelhouse_depends_on_lock_and_host(tmp_path: Path) -> None:
    """Another lock file, processor or C library is another directory."""
    other = tmp_path / "other.lock"
    other.write_text(LOCK_FILE.read_text() + "\n")
    digests = {
        lock_digest(ALIKE, LOCK_FILE.read_bytes()),
        lock_digest(ALIKE, other.read_bytes()),
        lock_digest(Interpreter("3.11", "aarch64", (2, 36)), LOCK_FILE.read_bytes()),
        lock_digest(Interpreter("3.11", "x86_64", (2, 34)), LOCK_FILE.read_bytes()),
    }
    assert len(digests) == 4


def test_the_code_is_a_folder_without_compiled_files(tmp_path: Path) -> None:
    """A changed file changes the digest; a compiled one isn't sent."""
    package = tmp_path / "bench" / "worker"
    (package / "__pycache__").mkdir(parents=True)
    (package / "main.py").write_text("print(1)")
    (package / "__pycache__" / "worker.pyc").write_bytes(b"")
    files = code_files(tmp_path, ("bench",))
    assert [name for name, _ in files] == ["bench/worker/main.py"]
    before = digest_of(files)
    (package / "main.py").write_text("print(2)")
    assert digest_of(code_files(tmp_path, ("bench",))) != before


def test_wheels_without_their_hash_are_refused(tmp_path: Path) -> None:
    """pip's refusal is one message, and leaves nothing in the cache that looks downloaded."""
    said: list[str] = []
    lock = tmp_path / "requirements.lock"
    lock.write_text(f"certifi==2026.10.18 --hash=sha256:{'0' * 64}\n")
    with pytest.raises(MissingRequirement, match="can't be downloaded") as caught:
        download_wheels(ALIKE, lock, tmp_path / "cache", said.append)
    assert "pip download" in str(caught.value)
    assert [path.name for path in (tmp_path / "cache" / "wheels").iterdir() if path.is_dir()] == []


def modules_of_a_worker() -> dict[str, set[str]]:
    """The modules of ours that programs on a client host load, following their imports -> what each imports."""
    programs = [f"bench.worker.{path.stem}" for path in REPOSITORY.glob("bench/worker/*.py")]
    waiting = [*programs, NULL_MODULE, *(system.client_module for system in SYSTEMS.values())]
    found: dict[str, set[str]] = {}
    while waiting:
        module = waiting.pop()
        base = REPOSITORY / module.replace(".", "/")
        path = base / "__init__.py" if base.is_dir() else base.with_suffix(".py")
        if module in found or not path.is_file():
            continue
        found[module] = set()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                found[module] |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                found[module] |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        waiting += [name for name in found[module] if name.split(".")[0] in ("bench", "contract", "systems")]
        waiting.append(module.rpartition(".")[0])
    return found


def test_a_client_that_drives_several_systems_is_sent_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a worker gets has no file twice."""
    before = client_environment().code
    monkeypatch.setitem(SYSTEMS, "another", SYSTEMS["kafka"])
    assert client_environment().code == before
    assert len(set(before)) == len(before)


def test_workers_import_nothing_that_clients_do_not_get() -> None:
    """The locked libraries, the standard library, and of this checkout what is sent: the operator's own it hasn't."""
    available = {"confluent_kafka", "pulsar", "_pulsar", "numpy", "pyarrow", *sys.stdlib_module_names}
    loaded = modules_of_a_worker()
    assert {
        "bench.worker.work",
        "contract.workload",
        *(system.client_module for system in SYSTEMS.values()),
    } <= loaded.keys()
    foreign = {
        module: names
        for module, imported in loaded.items()
        if (
            names := {
                name for name in imported if name.split(".")[0] not in {*available, "bench", "contract", "systems"}
            }
        )
    }
    assert foreign == {}
    sent = {name for name, _ in code_files(REPOSITORY, client_environment().code)}
    files = {module.replace(".", "/") for module in loaded if module}
    assert {f"{file}.py" if (REPOSITORY / f"{file}.py").is_file() else f"{file}/__init__.py" for file in files} <= sent
    assert not any(
        name.startswith("bench/") and not name.startswith(("bench/worker/", "bench/__init__")) for name in sent
    )


@pytest.mark.integration
def test_a_worker_would_find_everything(hosts: dict[str, SshHost]) -> None:
    """On the real client host: locked versions, from the host's own root, whatever lies in the working directory."""
    client = hosts["client-1"]
    said: list[str] = []
    words = deploy_client([client], user_cache(), said.append)["client-1"]
    root = client.record.root
    client.put(b"raise SystemExit('shadowed')", f"{root}/elsewhere/numpy.py")
    script = (
        "import confluent_kafka, numpy, pulsar, pyarrow.parquet, bench, json; from importlib.metadata import version; "
        "print(json.dumps({'files': [m.__file__ for m in (confluent_kafka, numpy, pulsar, bench)], "
        "'versions': {n: version(n) for n in ('confluent-kafka', 'numpy', 'pulsar-client', 'pyarrow')}}))"
    )
    told = json.loads(client.run(f'cd {root}/elsewhere && {words} -c "{script}"').stdout)
    assert all(file.startswith(f"{root}/software/") for file in told["files"])
    locked = pins(LOCK_FILE)
    assert told["versions"] == {name: locked[name][0] for name in told["versions"]}
    for module in modules_of_a_worker():
        client.run(f"{words} -c 'import {module}'")
    said.clear()
    assert deploy_client([client], user_cache(), said.append) == {"client-1": words}
    assert said == []


def test_a_changed_checkout_is_sent_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The directory of the code on a host follows the code; a stale copy is never run."""
    (tmp_path / "bench").mkdir()
    (tmp_path / "bench" / "__init__.py").write_text("")
    monkeypatch.setattr(python_environment, "REPOSITORY", tmp_path)
    host = scripted({})
    digest = digest_of(code_files(tmp_path, ("bench",)))
    key = f"worker-{digest[:16]}"
    incoming = f"/box/software/.incoming-{key}"
    host.answers = {
        f"cat /box/software/{key}/.complete 2>/dev/null || true": "",
        f"rm -rf {incoming} && mkdir -p {incoming} && tar --no-same-owner -xf {incoming}.tar -C {incoming} && "
        f"rm -f {incoming}.tar": "",
        f"printf %s {digest} > {incoming}/.complete && rm -rf /box/software/{key} && "
        f"mv {incoming} /box/software/{key}": "",
    }
    environment = replace(client_environment(), code=("bench",))
    assert python_environment.deploy_code([host], tmp_path / "cache", environment, lambda _: None).key == key
    assert list(host.files) == [f"{incoming}.tar"]
