"""What it takes to start a node again, with or without what it knew; and which queues have copies that aren't in step.

A node that comes back with an empty disk is another one to the others. So they forget it first, then it starts alone, joins them, and
gets a copy of each queue that it had one of: rabbitmqctl forget_cluster_node, join_cluster, rabbitmq-queues add_member,
rabbitmq-streams add_replica (rabbitmq.com/docs/clustering, rabbitmq.com/docs/quorum-queues).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from provisioning.errors import DeploymentError
from systems.processes import Process
from systems.rabbitmq.layout import node_of
from systems.rabbitmq.node import TIMEOUT_S, Nodes, binaries

REJOIN_LIMIT_S = 300.0
SOON_S = 5.0  # one that takes longer to answer one question may be frozen: another is asked
_ADDED_WITHIN_MS = 60_000
_STEP = {"wait_ms": 50, "times": 20}


def first_answer(
    nodes: Nodes, servers: Sequence[Process], question: str, *, timeout_s: float = TIMEOUT_S, **given: object
) -> tuple[Process, Any]:
    """The first node that answers, and what it says. Raises DeploymentError if none does."""
    problems = []
    for server in servers:
        try:
            return server, nodes.ask(server, question, timeout_s=timeout_s, **given)
        except DeploymentError as error:
            problems.append(str(error))
    raise DeploymentError("\n".join(problems))


def behind(nodes: Nodes, servers: Sequence[Process], names: Sequence[str], timeout_s: float) -> list[str]:
    """Of these quorum queues those with a copy that isn't in step: what starts or joins has to catch up first."""
    return list(first_answer(nodes, servers, "behind", timeout_s=timeout_s, names=binaries(names), **_STEP)[1])


def replaced(
    nodes: Nodes, server: Process, others: Sequence[Process], names: Sequence[str], start: Callable[[], None]
) -> None:
    """Has a node whose disk is empty join the others again, with copies of these queues. Raises DeploymentError."""
    node = node_of(server)
    first, _ = first_answer(nodes, others, "forget", timeout_s=REJOIN_LIMIT_S, node=node)
    start()
    nodes.ask(server, "join", first=node_of(first), timeout_s=REJOIN_LIMIT_S)
    grown = {"node": node, "names": binaries(names), "within_ms": _ADDED_WITHIN_MS}
    nodes.ask(first, "grow", timeout_s=REJOIN_LIMIT_S, **grown)
