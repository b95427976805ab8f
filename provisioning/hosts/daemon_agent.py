"""Runs on a host, handed to its python3 over standard input: starts, watches and ends daemons.

Standard library only, Python 3.9 and later. One request (JSON, first argument) in, one answer (JSON, standard output) out.
A daemon's pid file holds five lines: its pid, its kernel start time (so that a recycled pid is never taken for it),
its log's path, its tier (higher tiers are stopped first), and JSON: the words of its own for lack of memory, and the files that it
leaves behind when it is killed.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

POLL_S = 0.1
AUTOGROUP_TIMEOUT_S = 10.0
PROBE_EVERY_S = 0.25  # a starting daemon has better things to do than to answer
PROBE_TIMEOUT_S = 5.0
OUT_OF_MEMORY = "Out of memory|Cannot allocate memory|^Killed$"  # as the kernel, a shell and the C library say it


def start_time(pid: int) -> str | None:
    """Field 22 of /proc/PID/stat; None if there is no such process, or only its unreaped corpse."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] in "ZX" else fields[19]


def read_pid_files(run_dir: str) -> dict[str, dict[str, Any]]:
    """Every pid file: name -> pid, started, log, tier, out_of_memory, leaves, alive."""
    found = {}
    for path in sorted(Path(run_dir).glob("*.pid")):
        lines = path.read_text().splitlines()
        pid, started = int(lines[0]), lines[1]
        found[path.stem] = {
            "pid": pid,
            "started": started,
            "log": lines[2] if len(lines) > 2 else "",
            "tier": int(lines[3]) if len(lines) > 3 else 0,
            **({"out_of_memory": "", "leaves": []} | json.loads(lines[4] if len(lines) > 4 else "{}")),
            "alive": start_time(pid) == started,
        }
    return found


def start(request: dict[str, Any]) -> dict[str, Any]:
    """Starts each daemon in its own session, standard input closed, output to a new log."""
    run_dir = Path(request["run_dir"])
    run_dir.mkdir(parents=True, exist_ok=True)
    known = read_pid_files(str(run_dir))
    running = [spec["name"] for spec in request["daemons"] if known.get(spec["name"], {}).get("alive")]
    if running:
        return {"error": f"already running: {', '.join(running)}"}
    pids = {}
    for spec in request["daemons"]:
        Path(spec["log_path"]).parent.mkdir(parents=True, exist_ok=True)
        set_aside(spec["log_path"])
        with Path(spec["log_path"]).open("ab") as log:
            try:
                process = subprocess.Popen(
                    spec["argv"],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    env={**os.environ, **spec["env"]},
                    cwd=str(run_dir),
                    start_new_session=True,
                    preexec_fn=functools.partial(set_up, spec["niceness"], own_group(run_dir)),
                )
            except OSError as error:
                return {"error": f"{spec['name']}: {error}"}
        if spec["niceness"]:
            make_group_give_way(process.pid, spec["niceness"])
        own = json.dumps({"out_of_memory": spec["out_of_memory"], "leaves": spec["leaves"]})
        lines = [process.pid, start_time(process.pid) or "0", spec["log_path"], spec["tier"], own]
        aside = run_dir / f"{spec['name']}.pid.new"
        aside.write_text("".join(f"{line}\n" for line in lines))
        aside.rename(run_dir / f"{spec['name']}.pid")
        pids[spec["name"]] = process.pid
    return {"pids": pids}


def own_group(run_dir: Path) -> str:
    """The control group that this host's daemons belong to; "" = none of its own (provisioning/faults/on_host/groups.py)."""
    try:
        return (run_dir / "cgroup").read_text().strip()
    except FileNotFoundError:
        return ""


def set_up(niceness: int, group: str) -> None:
    """What a daemon does of itself before it becomes its program; joining comes before its first socket."""
    if group:
        Path(group, "cgroup.procs").write_text("0")
    os.nice(niceness)


def earlier_logs(log_path: str) -> list[Path]:
    """Those of the processes that a daemon's name had before, the first one's first: "<log>.1", "<log>.2"."""
    log = Path(log_path)
    numbers = [path.suffix[1:] for path in log.parent.glob(f"{log.name}.*") if path.stem == log.name]
    return [Path(f"{log_path}.{number}") for number in sorted(int(each) for each in numbers if each.isdecimal())]


def set_aside(log_path: str) -> None:
    """Keeps a log that is there already: who waits for a line of the new process must never find it in the words of an earlier one."""
    if Path(log_path).exists():
        Path(log_path).rename(f"{log_path}.{len(earlier_logs(log_path)) + 1}")


def make_group_give_way(pid: int, niceness: int) -> None:
    """The kernel may share out the cores among sessions first (autogroups), each with a niceness of its own."""
    deadline = time.monotonic() + AUTOGROUP_TIMEOUT_S
    while True:
        try:
            Path(f"/proc/{pid}/autogroup").write_text(str(niceness))
            return
        except BlockingIOError:  # it takes one such wish in a tenth of a second, from all processes together
            if time.monotonic() > deadline:
                raise
            time.sleep(POLL_S)
        except (FileNotFoundError, ProcessLookupError):  # a kernel without autogroups, or a daemon that ended at once
            return


def states(request: dict[str, Any]) -> dict[str, Any]:
    """Every daemon with a pid file: whether it lives, its peak memory, whether its log, or an earlier one, tells of lack of memory."""
    answer = {}
    for name, daemon in read_pid_files(request["run_dir"]).items():
        answer[name] = {
            "pid": daemon["pid"] if daemon["alive"] else None,
            "rss_peak_bytes": rss_peak_bytes(daemon["pid"]) if daemon["alive"] else None,
            "out_of_memory": any(
                tells_of_lack_of_memory(str(log), daemon["out_of_memory"])
                for log in (*earlier_logs(daemon["log"]), daemon["log"])
            ),
        }
    return {"daemons": answer}


def tiers(request: dict[str, Any]) -> dict[str, Any]:
    """The tiers that have a pid file."""
    return {"tiers": sorted({daemon["tier"] for daemon in read_pid_files(request["run_dir"]).values()})}


def rss_peak_bytes(pid: int) -> int | None:
    """VmHWM of /proc/PID/status."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    found = re.search(r"^VmHWM:\s+(\d+) kB$", status, re.M)
    return int(found.group(1)) * 1024 if found else None


def tells_of_lack_of_memory(log_path: str, own_words: str) -> bool:
    """Whether a log has a line that a process out of memory writes."""
    words = re.compile("|".join(filter(None, (OUT_OF_MEMORY, own_words))).encode(), re.M)
    try:
        with Path(log_path).open("rb") as log:
            return any(words.search(line) for line in log)
    except FileNotFoundError:
        return False


def tail(log_path: str, size: int = 2000) -> str:
    """The end of a log."""
    try:
        return Path(log_path).read_bytes()[-size:].decode(errors="replace").strip()
    except FileNotFoundError:
        return "(no log)"


def stop(request: dict[str, Any]) -> dict[str, Any]:
    """SIGTERM, wait, SIGKILL to the whole session's group, wait; pid files go only with their processes.

    A frozen process can't heed SIGTERM: it is let go on, so that it ends as the others do.
    `names` None = all; `tier` None = any. The pids are read before the first signal: a server may delete files as it ends.
    """
    run_dir = Path(request["run_dir"])
    chosen = {
        name: daemon
        for name, daemon in read_pid_files(str(run_dir)).items()
        if (request["names"] is None or name in request["names"])
        and (request["tier"] is None or daemon["tier"] == request["tier"])
    }
    for daemon in alive(chosen).values():
        signal_quietly(os.kill, daemon["pid"], signal.SIGTERM)
        signal_quietly(os.kill, daemon["pid"], signal.SIGCONT)
    left = wait_gone(chosen, request["grace_s"])
    killed = sorted(left)
    for daemon in left.values():
        signal_quietly(os.killpg, daemon["pid"], signal.SIGKILL)
    killed_daemons, left = left, wait_gone(left, request["kill_wait_s"])
    for name, daemon in killed_daemons.items():
        if name not in left:
            for path in daemon["leaves"]:
                Path(path.replace("{pid}", str(daemon["pid"]))).unlink(missing_ok=True)
    for name in chosen:
        if name not in left:
            (run_dir / f"{name}.pid").unlink(missing_ok=True)
    return {"stopped": sorted(chosen), "killed": killed, "left": {name: daemon["pid"] for name, daemon in left.items()}}


def alive(daemons: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Those that run, by pid and start time."""
    return {name: each for name, each in daemons.items() if start_time(each["pid"]) == each["started"]}


def wait_gone(daemons: dict[str, dict[str, Any]], limit_s: float) -> dict[str, dict[str, Any]]:
    """Waits until none runs; the ones that still do after `limit_s`."""
    deadline = time.monotonic() + limit_s
    while (left := alive(daemons)) and time.monotonic() < deadline:
        time.sleep(POLL_S)
    return left


def signal_quietly(send: Any, pid: int, number: int) -> None:
    """A process that has ended meanwhile is fine: it was to be ended."""
    with contextlib.suppress(ProcessLookupError):
        send(pid, number)


def await_ready(request: dict[str, Any]) -> dict[str, Any]:
    """Waits at most `slice_s` until every probe is met; a daemon of `names` that died ends the wait at once."""
    deadline = time.monotonic() + request["slice_s"]
    pending = list(request["probes"])
    while True:
        known = read_pid_files(request["run_dir"])
        died = [name for name in request["names"] if not known.get(name, {}).get("alive")]
        if died:
            return {"died": {name: tail(known[name]["log"]) if name in known else "(never started)" for name in died}}
        notes = [(probe, probe_note(probe)) for probe in pending]
        pending = [probe for probe, note in notes if note is not None]
        if not pending or time.monotonic() >= deadline:
            waiting = [f"{probe['what']}: {note}" for probe, note in notes if note is not None]
            logs = {name: tail(known[name]["log"]) for name in request["names"]} if pending else {}
            return {"died": {}, "pending": pending, "waiting": waiting, "logs": logs}
        time.sleep(PROBE_EVERY_S)


def probe_note(probe: dict[str, Any]) -> str | None:
    """None if the probe is met, else what is seen instead."""
    try:
        seen = probe_text(probe)
    except OSError as error:
        return str(error)
    missing = [part for part in probe["contains"] if part not in seen]
    return f"no {missing[0]!r} in {seen[:200]!r}" if missing else None


def probe_text(probe: dict[str, Any]) -> str:
    """What a probe's target says: a port's answer to `send`, a URL's body, or a file's end."""
    if probe["url"]:
        import urllib.request  # here, because loading it takes longer than all that is done without it

        # a proxy that the environment names must never be asked for a broker's address
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with direct.open(probe["url"], timeout=PROBE_TIMEOUT_S) as response:
            return str(response.read().decode(errors="replace"))
    if probe["path"]:
        return Path(probe["path"]).read_text(errors="replace")
    with socket.create_connection((probe["address"], probe["port"]), timeout=PROBE_TIMEOUT_S) as connection:
        if not probe["send"]:
            return ""
        connection.sendall(probe["send"].encode())
        return b"".join(iter(lambda: connection.recv(65536), b"")).decode(errors="replace")


def main() -> None:
    """Answers one request."""
    request = json.loads(sys.argv[1])
    verbs = {"start": start, "states": states, "stop": stop, "tiers": tiers, "await": await_ready}
    print(json.dumps(verbs[request["verb"]](request)))


if __name__ == "__main__":
    main()
