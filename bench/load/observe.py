"""What a run's workers showed, as trial.json carries it and as a line for people. Pure functions of the workers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench.load.workers import Workers
from systems.settings import joined


def worker_observations(workers: Workers) -> tuple[Mapping[str, Any], ...]:
    """One entry per worker; null for what a worker that died could not tell any more."""
    return tuple(
        {
            "worker": worker.job.worker,
            "role": worker.job.role,
            "host": worker.host.name,
            "state": worker.state,
            "cpu_s": worker.latest.get("cpu_s"),
            "wall_s": worker.latest.get("wall_s"),
            "measured": worker.latest.get("measured"),
            "rss_peak_bytes": worker.latest.get("rss_peak_bytes"),
            "rows": sum(file.rows for file in worker.files),
            "bytes": sum(file.bytes for file in worker.files),
            "errors": worker.latest.get("errors"),
            "unanswered": worker.latest.get("in_flight"),
            "repeated": worker.latest.get("repeated"),
            "foreign": worker.latest.get("foreign"),
        }
        for worker in workers.all
    )


def clients(workers: Workers) -> dict[str, dict[str, str]]:
    """What the client libraries run with, by role: where workers of a role differ, every value shows."""
    of_roles = {role: [worker.client for worker in workers.of_role(role)] for role in ("producer", "consumer")}
    return {role: joined(alike) for role, alike in of_roles.items() if alike and all(alike)}


def first_acknowledgement_ms(workers: Workers) -> float | None:
    """The slowest producer's time to its first acknowledgement: from connecting to its probe, else from the start instant."""
    times = [worker.latest.get("first_acknowledgement_ms") for worker in workers.of_role("producer")]
    known = [float(time) for time in times if time is not None]
    return max(known) if known and len(known) == len(times) else None


def progress_line(workers: Workers, left_s: float) -> str:
    """How far the load is, for a person."""
    producers, consumers = workers.of_role("producer"), workers.of_role("consumer")
    sent, acked, errors = (sum(worker.count(name) for worker in producers) for name in ("sent", "acked", "errors"))
    received = sum(worker.count("received") for worker in consumers)
    lag_ms = max((worker.count("lag_ns") for worker in producers), default=0) / 1e6
    parts = [f"{sent:,} sent", f"{acked:,} acknowledged", f"{received:,} received"]
    parts += [f"{errors:,} errors"] if errors else []
    parts += [f"sends {lag_ms:,.0f} ms late"] if lag_ms >= 100 else []
    return f"{', '.join(parts)}, {f'{left_s:.0f} s left' if left_s > 0 else 'draining'}"
