"""Load tools that are Java programs: their command line, with jars and logging in place on the client host."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Sequence

from provisioning.hosts.host import Host
from systems.deployment import SoftwareStore
from systems.jvm.processes import JAVA, LIBS
from systems.load_tool import folder_of
from systems.processes import scratch
from systems.rendering import render

JAVA_OF_LOAD_TOOL = dataclasses.replace(JAVA, why="the load tools of cross_check = true need it", roles=("client",))
_HEAP = "1g"  # with less, one tool's own histograms run it out of memory


def java_command(
    software: Sequence[str], arguments: Sequence[str], host: Host, store: SoftwareStore
) -> tuple[str, ...]:
    """The words that run a main class with its `arguments` on `host`."""
    classpath = ":".join(f"{host.record.root}/{store.deploy(name, [host])}/{LIBS}/*" for name in software)
    logging = f"{folder_of(host)}/log4j2.properties"
    host.put(render("jvm/templates/log4j2.properties.j2").encode(), logging)
    host.run(f"mkdir -p {shlex.quote(scratch(host))}")
    return (
        *("java", f"-Xmx{_HEAP}", "-XX:+UseG1GC", "-XX:-UsePerfData", f"-Djava.io.tmpdir={scratch(host)}"),
        "-Duser.language=en",  # figures with decimal points, whatever the host's language
        *(f"-Dlog4j2.configurationFile={logging}", "-cp", classpath),
        *arguments,
    )
