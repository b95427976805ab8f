"""The first content of a node's data directories, made by Kafka's own tool. Pure: it renders a command, it touches no host.

The tool is a JVM: seconds of computing, on each of the nodes, for some hundred bytes that are the same for the same configuration but
for random identities. What it has written once is therefore kept beside the software, and given again to the same configuration.
"""

from __future__ import annotations

from collections.abc import Sequence
from shlex import quote


def format_command(log_dirs: Sequence[str], config_path: str, kept: str, tool: str, *, anew: bool) -> str:
    """A shell command; does nothing where the directories have their content. `tool`: what formats, as a shell command.

    `kept`: a folder of this node for what was written, by the configuration file's SHA-256. `anew`: don't take it from there.
    """
    places = [(quote(path), f'"$kept"/{number}') for number, path in enumerate(log_dirs)]
    directories = " ".join(path for path, _ in places)
    take = " && ".join(f"cp -a {place}/. {path}/" for path, place in places)
    keep = " && ".join(f'cp -a {path} "$new"/{number}' for number, (path, _) in enumerate(places))
    reuse = "false" if anew else 'test -d "$kept"'
    return (
        f"mkdir -p {directories} && test -f {places[0][0]}/meta.properties && exit 0\n"
        f"kept={quote(kept)}/$(sha256sum < {quote(config_path)} | cut -c1-16) && new=$kept.new || exit 1\n"
        f"if {reuse}; then {take}; exit; fi\n"
        # renamed when it is whole: half of it must never be taken
        f'{tool} && rm -rf "$kept" "$new" && mkdir -p "$new" && {keep} && mv "$new" "$kept"'
    )
