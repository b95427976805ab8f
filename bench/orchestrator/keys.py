"""The orchestrator's SSH key: made on its host, authorised on all hosts, removed again. The private half never leaves that host."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from bench.orchestrator.place import place_on
from provisioning.errors import HostsFailed
from provisioning.hosts.host import Host, on_all

# The comment of the public key: by it the line is found again. One detached campaign at a time has a testbed, so one name is enough.
COMMENT = "samebox-orchestrator"
# The key opens a shell and nothing more: no forwarding, no agent, no terminal.
OPTIONS = "restrict"

WITHDRAW = f"""file="$HOME/.ssh/authorized_keys"
[ -f "$file" ] && grep -q ' {COMMENT}$' "$file" || exit 0
aside=$(mktemp "$file.XXXXXX") && cp -p "$file" "$aside" && {{ grep -v ' {COMMENT}$' "$file" > "$aside" || [ $? -eq 1 ]; }} \\
 && mv "$aside" "$file" || {{ rm -f "$aside"; exit 1; }}
[ -s "$file" ] || {{ rm -f "$file"; rmdir "$HOME/.ssh" 2>/dev/null || true; }}"""


def make_key(host: Host) -> str:
    """The public half of a key pair made on the host; one that is there already is kept."""
    path = shlex.quote(place_on(host.record).identity_file)
    made = host.run(
        f"[ -f {path} ] || ssh-keygen -q -t ed25519 -N '' -C {COMMENT} -f {path} </dev/null >&2; cat {path}.pub"
    )
    return made.stdout.strip()


def authorise(hosts: Sequence[Host], public_key: str) -> None:
    """Authorises the key on all hosts, in place of an earlier one. Raises HostsFailed."""
    line = shlex.quote(f"{OPTIONS} {public_key}")
    add = f"""mkdir -p -m 700 "$HOME/.ssh" && file="$HOME/.ssh/authorized_keys" && (umask 077; touch "$file") \\
 && {{ [ -z "$(tail -c1 "$file")" ] || echo >> "$file"; }} && printf '%s\\n' {line} >> "$file\""""
    on_all("authorising the orchestrator's key", hosts, lambda host: host.run(f"({WITHDRAW}) && {add}"))


def withdraw(hosts: Sequence[Host]) -> tuple[str, ...]:
    """Removes the key on all hosts; returns those where that failed. Their line opens nothing once the private half is gone."""
    try:
        on_all("removing the orchestrator's key", hosts, lambda host: host.run(WITHDRAW))
    except HostsFailed as error:
        return tuple(sorted(error.errors))
    return ()
