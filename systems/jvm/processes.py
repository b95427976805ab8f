"""Java processes on hosts: what they need there, their files, their command lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from provisioning.hosts.daemons import Daemon
from provisioning.hosts.requirement import Requirement
from systems.deployment import Plan
from systems.jvm.class_data import flag
from systems.jvm.rendering import jvm_flags, override_jvm_flags, override_properties, properties, property_of
from systems.processes import Process, scratch
from systems.rendering import render, without
from systems.settings import NOTHING, Settings

JAVA = Requirement(
    "Java 17",
    "java -XX:-UsePerfData -version 2>&1"
    " | sed -n 's/.*version \"\\([0-9]*\\).*/\\1/p' | awk '$1 >= 17 {ok = 1} END {exit !ok}'",
    {
        "amazon": ("java-17-amazon-corretto-devel",),
        "redhat": ("java-17-openjdk-devel",),
        "debian": ("openjdk-17-jdk-headless",),
    },
    "brokers run on it",
    ("broker", "metadata"),
    shows='java -XX:-UsePerfData -version 2>&1 | sed -n \'s/.*version "\\([^"]*\\)".*/\\1/p\'',
)
OUT_OF_MEMORY = "OutOfMemoryError|OutOfDirectMemoryError"
ATTACH_SOCKET = "/tmp/.java_pid{pid}"
LIBS = "libs"


def argument_file(process: Process) -> str:
    return f"{process.etc}/{process.daemon}.jvm"


def tool_arguments(process: Process) -> str:
    return f"{process.etc}/tool.jvm"


def files(
    process: Process, plan: Plan, *, config: str, arguments: str, lacks: Settings = NOTHING, **sizes: object
) -> dict[str, str]:
    """The files of one process, and the argument file of its system's tools: path -> content, the plan's overrides in it.

    `config` is a whole file; `arguments` names a template of the system, which `sizes` fill. `lacks`: kind of process -> keys of the
    file that its version doesn't know.
    """
    config = without(config, lacks.get(process.daemon, {}), property_of)
    templates, log4j2, tmp = f"{process.system}/templates", f"{process.etc}/log4j2.properties", scratch(process.host)
    flags = render(f"{templates}/{arguments}", daemon=process.daemon, log4j2=log4j2, tmp=tmp, **sizes)
    return {
        process.config_path: override_properties(config, plan.overrides_for(process.component)),
        argument_file(process): override_jvm_flags(flags, plan.overrides_for(f"jvm/{process.component}")),
        tool_arguments(process): render(f"{templates}/tool.jvm.j2", tmp=tmp),
        log4j2: render("jvm/templates/log4j2.properties.j2"),
    }


def settings_of(process: Process, rendered: dict[str, str]) -> dict[str, dict[str, str]]:
    """The process' intended settings, from its rendered files."""
    return {
        process.component: properties(rendered[process.config_path]),
        f"jvm/{process.component}": jvm_flags(rendered[argument_file(process)]),
    }


def render_all(
    processes: Sequence[Process], files_of: Callable[[Process], dict[str, str]]
) -> tuple[dict[str, dict[str, str]], dict[str, dict[str, str]]]:
    """Every host's files (path -> content), and the settings in them."""
    by_host: dict[str, dict[str, str]] = {process.host.name: {} for process in processes}
    intended: dict[str, dict[str, str]] = {}
    for process in processes:
        own = files_of(process)
        by_host[process.host.name] |= own
        intended |= settings_of(process, own)
    return by_host, intended


def java(
    flags_file: str, software: str, kind: str, main_class: str, *arguments: str, prime: bool = False
) -> tuple[str, ...]:
    """The argument vector of a Java program: flags from a rendered file, every jar of the software, its kind's class data.

    `prime`: it records its class data instead of using them.
    """
    flags = (f"@{flags_file}", flag(software, kind, record=prime))
    return ("java", *flags, "-cp", f"{software}/{LIBS}/*", main_class, *arguments)


def daemon(process: Process, software: str, main_class: str, *arguments: str, plan: Plan, tier: int = 0) -> Daemon:
    """A Java process as a daemon; when it is killed it can't remove the socket on which it answered."""
    argv = java(
        argument_file(process), software, process.daemon, main_class, *arguments, process.config_path, prime=plan.prime
    )
    return Daemon(
        process.daemon,
        argv,
        process.log_path,
        tier=tier,
        niceness=plan.daemon_niceness,
        out_of_memory=OUT_OF_MEMORY,
        leaves=(ATTACH_SOCKET,),
    )
