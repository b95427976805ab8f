"""Runs on a host, handed to its python3 over standard input: looks at running JVMs and at jars, and changes nothing.

Standard library only, Python 3.9 and later. One request (JSON, first argument) in, one answer (JSON, standard output) out.
A JVM answers what jcmd would ask on a socket of its own, `/tmp/.java_pid<PID>`. It makes the socket when SIGQUIT comes and a file
`.attach_pid<PID>` lies in its working directory. Starting jcmd, a JVM itself, would take a hundred times as long as the answer.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

LISTEN = "0A"
ANSWER_TIMEOUT_S = 30.0
POLL_S = 0.02


def listeners(pids: list[int]) -> dict[str, list[str]]:
    """Pid -> the addresses ("127.0.0.1:9092") on which it listens, IPv4 and IPv6."""
    by_inode = {}
    for table, family in (("tcp", socket.AF_INET), ("tcp6", socket.AF_INET6)):
        path = Path("/proc/net") / table
        for line in path.read_text().splitlines()[1:] if path.exists() else []:
            fields = line.split()
            if fields[3] == LISTEN:
                by_inode[fields[9]] = readable(fields[1], family)
    return {str(pid): sorted({by_inode[inode] for inode in socket_inodes(pid) if inode in by_inode}) for pid in pids}


def readable(address: str, family: int) -> str:
    """A hexadecimal address of /proc/net/tcp as people write it: every 32 bits are in the machine's byte order."""
    host, port = address.split(":")
    words = [bytes.fromhex(host[at : at + 8]) for at in range(0, len(host), 8)]
    packed = b"".join(word[::-1] if sys.byteorder == "little" else word for word in words)
    return f"{socket.inet_ntop(family, packed)}:{int(port, 16)}"


def socket_inodes(pid: int) -> list[str]:
    """The inodes of a process' sockets; none of a process that is gone."""
    inodes = []
    descriptors = Path(f"/proc/{pid}/fd")
    for descriptor in descriptors.iterdir() if descriptors.exists() else ():
        try:
            target = str(descriptor.readlink())
        except OSError:
            continue  # closed between look and read
        if target.startswith("socket:["):
            inodes.append(target[len("socket:[") : -1])
    return inodes


def constants(folder: str, jars: list[str], names: list[str]) -> list[str]:
    """Which of `names` are string constants in the classes of a folder's jars (patterns)."""
    wanted = {name: b"\x01" + len(name.encode()).to_bytes(2, "big") + name.encode() for name in names}
    found: set[str] = set()
    for jar in sorted(path for pattern in jars for path in Path(folder).glob(pattern)):
        with zipfile.ZipFile(jar) as archive:
            for entry in archive.namelist():
                if entry.endswith(".class"):
                    content = archive.read(entry)
                    found |= {name for name in wanted.keys() - found if wanted[name] in content}
    return sorted(found)


def said(address: str, port: int, words: str) -> str:
    """What a port answers to a few words before it closes."""
    with socket.create_connection((address, port), timeout=ANSWER_TIMEOUT_S) as connection:
        connection.sendall(words.encode())
        return everything_from(connection)


def told(pid: int, command: str) -> str:
    """What the JVM answers to a diagnostic command. Raises OSError with the reason if it doesn't."""
    socket_path = Path(f"/tmp/.java_pid{pid}")
    if not socket_path.exists():
        have_listen(pid, socket_path)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(ANSWER_TIMEOUT_S)
        connection.connect(str(socket_path))
        # protocol version 1, the operation, its three arguments
        connection.sendall(b"".join(part.encode() + b"\0" for part in ("1", "jcmd", command, "", "")))
        answer = everything_from(connection)
    status, _, body = answer.partition("\n")
    if status != "0":
        raise OSError(f"the JVM refuses {command}: {answer[:400]!r}")
    return body


def have_listen(pid: int, socket_path: Path) -> None:
    """Has the JVM make its socket."""
    deadline = time.monotonic() + ANSWER_TIMEOUT_S
    wish = Path(f"/proc/{pid}/cwd/.attach_pid{pid}")
    wish.touch()
    try:
        os.kill(pid, signal.SIGQUIT)
        while not socket_path.exists():
            if time.monotonic() > deadline:
                raise OSError(f"the JVM didn't create {socket_path} within {ANSWER_TIMEOUT_S:g} s")
            time.sleep(POLL_S)
    finally:
        wish.unlink()


def everything_from(connection: socket.socket) -> str:
    """What comes until the other side closes."""
    return b"".join(iter(lambda: connection.recv(65536), b"")).decode(errors="replace")


def answer_to(pid: int, command: str) -> dict[str, str]:
    """What a JVM says to a diagnostic command: either `told` or `error`."""
    try:
        return {"told": told(pid, command)}
    except OSError as error:
        return {"error": str(error)}


def main() -> None:
    """Answers one request."""
    request: dict[str, Any] = json.loads(sys.argv[1])
    answer: dict[str, Any] = {"told": [answer_to(*one) for one in request["commands"]]}
    answer["listeners"] = listeners(request["pids"])
    answer["constants"] = constants(request["folder"], request["jars"], request["names"])
    answer["said"] = [said(*one) for one in request["say"]]
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
