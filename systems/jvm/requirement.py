"""The Java that brokers and their load tools run on."""

from __future__ import annotations

import dataclasses

from provisioning.hosts.requirement import Requirement

_SHOWS = 'java -XX:-UsePerfData -version 2>&1 | sed -n \'s/.*version "\\([^"]*\\)".*/\\1/p\''

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
    shows=_SHOWS,
)
JAVA_OF_LOAD_TOOL = dataclasses.replace(JAVA, why="the load tools of cross_check = true need it", roles=("client",))
