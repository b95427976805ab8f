"""Commands, processes and files over a real sshd."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from provisioning.errors import CommandFailed, CommandTimedOut, HostError, HostsFailed, HostUnreachable, InvalidInput
from provisioning.hosts.host import on_all
from provisioning.hosts.inventory import Inventory
from provisioning.hosts.ssh import SshHost, connect

pytestmark = [pytest.mark.integration, pytest.mark.timeout(120)]


@pytest.fixture
def host(hosts: dict[str, SshHost]) -> SshHost:
    """One host of the session's testbed."""
    return hosts["broker-1"]


def _exists(host: SshHost, pid: str) -> bool:
    return host.run(f"ps -o stat= -p {pid} | grep -v '^Z'", check=False).exit_status == 0


def test_a_command_tells_output_error_and_status(host: SshHost) -> None:
    """Standard output, standard error and exit status arrive apart from each other."""
    completed = host.run("echo out; echo err >&2; exit 3", check=False)
    assert (completed.stdout, completed.stderr, completed.exit_status) == ("out\n", "err\n", 3)


def test_a_failing_command_raises_with_its_evidence(host: SshHost) -> None:
    """The error of a failed command names host, status, command and what it printed."""
    with pytest.raises(CommandFailed, match=r"broker-1: exit 7 from: echo no space >&2; exit 7\nno space"):
        host.run("echo no space >&2; exit 7")


def test_death_by_signal_reads_as_128_plus_n(host: SshHost) -> None:
    """A command killed by signal 9 has exit status 137, as in a shell."""
    assert host.run("sh -c 'kill -9 $$'", check=False).exit_status == 137


def test_commands_get_no_input_unless_given(host: SshHost) -> None:
    """A command that reads its input sees its end at once, or exactly the bytes given."""
    assert host.run("cat").stdout == ""
    content = os.urandom(3_000_000).hex().encode()
    assert host.run("sha256sum", stdin=content).stdout.split()[0] == hashlib.sha256(content).hexdigest()


def test_big_output_on_both_streams_does_not_deadlock(host: SshHost) -> None:
    """6 MB on each stream at once, more than any window, arrive whole."""
    completed = host.run("head -c 6000000 /dev/zero | tr '\\0' e >&2 & head -c 6000000 /dev/zero | tr '\\0' o; wait")
    assert completed.stdout == "o" * 6_000_000
    assert completed.stderr == "e" * 6_000_000


def test_a_background_child_that_keeps_the_output_open_does_not_block(host: SshHost) -> None:
    """The command's own exit ends the wait, though a child it left behind still holds its output."""
    started = time.monotonic()
    pid = host.run("sleep 300 & echo $!").stdout.strip()
    assert time.monotonic() - started < 20
    assert host.run(f"kill {pid}").exit_status == 0


def test_an_overrun_ends_the_remote_processes(host: SshHost) -> None:
    """At its deadline the command raises, and neither it nor its children run on."""
    pids = f"{host.record.root}/overrun.pids"
    with pytest.raises(CommandTimedOut, match="broker-1: no answer within 1 s from: sleep 300"):
        host.run(
            f"sleep 300 & echo $! $$ > {pids}; wait # sleep 300".replace("sleep 300 &", "sleep 300 &", 1), timeout_s=1
        )
    for pid in host.get(pids).decode().split():
        assert not _exists(host, pid)


def test_an_overrun_ends_even_what_ignores_the_request(host: SshHost) -> None:
    """A command that ignores SIGTERM is killed."""
    pids = f"{host.record.root}/stubborn.pids"
    with pytest.raises(CommandTimedOut):
        host.run(f"trap '' TERM; echo $$ > {pids}; while :; do sleep 0.2; done", timeout_s=1)
    assert not _exists(host, host.get(pids).decode().strip())


def test_endless_output_does_not_outlive_the_deadline(host: SshHost) -> None:
    """A command that never stops printing is ended at its deadline too."""
    with pytest.raises(CommandTimedOut):
        host.run("while :; do head -c 1000 /dev/zero; sleep 0.05; done", timeout_s=1)


def test_many_threads_share_one_host(host: SshHost) -> None:
    """Forty commands at once over one SshHost each get their own answer."""
    with ThreadPoolExecutor(max_workers=20) as pool:
        answers = list(pool.map(lambda n: host.run(f"echo {n}; sleep 0.1; echo {n} >&2"), range(40)))
    assert [(a.stdout, a.stderr) for a in answers] == [(f"{n}\n", f"{n}\n") for n in range(40)]


def test_files_make_a_round_trip(host: SshHost, tmp_path: Path) -> None:
    """put and push make parents and set the mode; get and fetch bring back the same bytes."""
    content = os.urandom(5_000_001)
    (tmp_path / "source").write_bytes(content)
    folder = f"{host.record.root}/files/a b/'c"
    host.put(b"small\n", f"{folder}/small", mode=0o600)
    host.push(tmp_path / "source", f"{folder}/big", mode=0o755)
    assert host.get(f"{folder}/small") == b"small\n"
    host.fetch(f"{folder}/big", tmp_path / "new" / "back")
    assert (tmp_path / "new" / "back").read_bytes() == content
    names = host.run(f'cd "{folder}" && stat -c "%a %n" *').stdout
    assert names == "755 big\n600 small\n"
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["back"]


def test_an_empty_file_is_written(host: SshHost) -> None:
    """Empty content makes an empty file."""
    host.put(b"", f"{host.record.root}/empty")
    assert host.get(f"{host.record.root}/empty") == b""


def test_damaged_content_never_reaches_the_name(host: SshHost) -> None:
    """When what arrived doesn't have the expected SHA-256, the old file stays and nothing else is left beside it."""
    path = f"{host.record.root}/guarded/file"
    host.put(b"old", path)
    with pytest.raises(HostError, match=r"stored sha256 .* expected"):
        host._upload([b"cut"], 3, hashlib.sha256(b"cut off").hexdigest(), path, 0o644)
    assert host.get(path) == b"old"
    assert host.run(f"ls -A {path.rpartition('/')[0]}").stdout == "file\n"


def test_a_fetched_file_that_arrives_damaged_is_refused(
    host: SshHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """fetch compares with the SHA-256 made on the host and leaves nothing behind on a mismatch."""
    host.put(b"content", f"{host.record.root}/damaged")
    wrong = "head -c 7 /dev/zero; sha256sum < /dev/null >&2"
    monkeypatch.setattr("provisioning.hosts.ssh_host._fetch_script", lambda _: wrong)
    with pytest.raises(HostError, match="arrived damaged"):
        host.fetch(f"{host.record.root}/damaged", tmp_path / "target")
    assert list(tmp_path.iterdir()) == []


def test_a_replaced_file_is_old_or_new_never_between(host: SshHost) -> None:
    """A reader that looks all the time sees only whole contents while a file is written again and again."""
    path = f"{host.record.root}/atomic"
    contents = {letter: letter.encode() * 400_000 for letter in "abcdef"}
    host.put(contents["a"], path)
    watch = host.spawn(f"while read -t 0.02 stop; [ $? -gt 128 ]; do cat {path} | sha256sum; done")
    for letter in "bcdef":
        host.put(contents[letter], path)
    watch.send_line("stop")
    seen = {line.split()[0] for line in watch.lines()}
    assert len(seen) >= 2
    assert seen <= {hashlib.sha256(content).hexdigest() for content in contents.values()}


def test_a_missing_file_is_a_host_error(host: SshHost, tmp_path: Path) -> None:
    """get and fetch of a missing file name host and path, and fetch leaves no partial file."""
    with pytest.raises(HostError, match=r"broker-1.*nothing-here"):
        host.get("/nothing-here")
    with pytest.raises(HostError, match=r"broker-1.*nothing-here"):
        host.fetch("/nothing-here", tmp_path / "target")
    assert list(tmp_path.iterdir()) == []


def test_a_spawned_process_answers_line_by_line(host: SshHost) -> None:
    """Lines go in and come out while the process runs; its exit and last errors are told by wait."""
    process = host.spawn('while read -r line; do echo "got $line"; done; echo done >&2; exit 4')
    lines = process.lines()
    for word in ("one", "zwei ü"):
        process.send_line(word)
        assert next(lines) == f"got {word}"
    with pytest.raises(CommandTimedOut):
        process.wait(timeout_s=0.2)
    process._session.close_input()
    assert list(lines) == []
    completed = process.wait(timeout_s=60)
    assert (completed.stdout, completed.stderr, completed.exit_status) == ("", "done\n", 4)
    process.close()
    process.close()


def test_a_spawned_process_keeps_the_last_errors_only(host: SshHost) -> None:
    """However much it prints on standard error, the process doesn't block and the last 64 KiB are kept."""
    process = host.spawn("head -c 5000000 /dev/zero | tr '\\0' x >&2; echo end >&2")
    completed = process.wait(timeout_s=60)
    assert len(completed.stderr) == 64 * 1024
    assert completed.stderr.endswith("xxxend\n")


def test_an_unfinished_last_line_is_told(host: SshHost) -> None:
    """Output that ends without a newline is a line too."""
    assert list(host.spawn("printf 'a\\nb'").lines()) == ["a", "b"]


def test_closing_ends_the_remote_process(host: SshHost) -> None:
    """close ends a process that ignores its input, with its children."""
    process = host.spawn("sleep 300 & echo $$ $!; wait")
    pids = next(process.lines()).split()
    process.close()
    assert not [pid for pid in pids if _exists(host, pid)]


def test_closing_lets_a_process_end_by_itself(host: SshHost) -> None:
    """A process that ends when its input closes gets the time to do so."""
    path = f"{host.record.root}/said-goodbye"
    host.spawn(f"cat; echo bye > {path}").close()
    assert host.get(path) == b"bye\n"


def test_sending_to_an_ended_process_says_so(host: SshHost) -> None:
    """A line for a process that has ended raises an error with the process' last words."""
    process = host.spawn("echo out of memory >&2; exit 1")
    process.wait(timeout_s=60)
    assert list(process.lines()) == []
    with pytest.raises(HostError, match=r"has ended: echo out.*\nout of memory"):
        process.send_line("hello")


def test_all_failures_are_told_together(hosts: dict[str, SshHost]) -> None:
    """on_all waits for every host and names each that failed."""
    with pytest.raises(HostsFailed, match="looking failed on broker-2, client-1") as caught:
        on_all("looking", list(hosts.values()), lambda h: h.run(f"case {h.name} in broker-2|client-1) exit 5;; esac"))
    assert sorted(caught.value.errors) == ["broker-2", "client-1"]


def test_a_host_that_refuses_is_unreachable(local_testbed: Inventory) -> None:
    """A refused connection is one clear error with host, address, port, cause and what to do."""
    record = local_testbed.hosts[0]
    closed = replace(record, ssh=replace(record.ssh, port=9))
    (host,) = connect(replace(local_testbed, hosts=(closed,)))
    with pytest.raises(HostUnreachable, match=rf"broker-1: .*@{record.ssh.address}:9: .*refused") as caught:
        host.run("true")
    assert "is up" in caught.value.next_step


def test_another_host_key_is_refused(local_testbed: Inventory) -> None:
    """A server that shows another key than the pinned one gets no login; both keys are shown."""
    first, second = local_testbed.hosts[:2]
    moved = replace(first, ssh=replace(first.ssh, host_key=second.ssh.host_key))
    (host,) = connect(replace(local_testbed, hosts=(moved,)))
    with pytest.raises(HostUnreachable, match="shows host key") as caught:
        host.run("true")
    assert first.ssh.host_key in str(caught.value)
    assert second.ssh.host_key in str(caught.value)


def test_only_the_operators_key_gets_in(local_testbed: Inventory, tmp_path: Path) -> None:
    """Another key is refused, and the error says whose authorized_keys lacks it."""
    from provisioning.testbeds.local.sshd import make_key

    make_key(tmp_path / "stranger", "stranger")
    (host, *_) = connect(replace(local_testbed, identity_file=str(tmp_path / "stranger")))
    with pytest.raises(HostUnreachable, match="identity file was not accepted") as caught:
        host.run("true")
    assert "authorized_keys" in caught.value.next_step


@pytest.mark.parametrize("content", [None, "not a key"])
def test_a_useless_identity_file_is_invalid_input(
    local_testbed: Inventory, tmp_path: Path, content: str | None
) -> None:
    """A missing or malformed identity file is told before anything is connected."""
    if content is not None:
        (tmp_path / "key").write_text(content)
    with pytest.raises(InvalidInput, match=str(tmp_path / "key")):
        connect(replace(local_testbed, identity_file=str(tmp_path / "key")))


def test_no_thread_outlives_a_closed_host(local_testbed: Inventory) -> None:
    """close ends the connection's threads; closing twice is fine."""
    before = set(threading.enumerate())
    (host, *_) = connect(local_testbed)
    host.run("true")
    host.close()
    host.close()
    deadline = time.monotonic() + 5
    while (left := set(threading.enumerate()) - before) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert left == set()
