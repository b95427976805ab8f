"""One run, from ready to done: starts its workers together, follows them, ends them."""

from __future__ import annotations

import time
from typing import Any

from bench.load.abort import Abort, AcknowledgementWatch, of_silence, of_worker
from bench.load.load import Hooks, LoadSpec
from bench.load.phase_end import BacklogWatch, PhaseEnd
from bench.load.warmup_watch import WarmupWatch
from bench.load.workers import Workers
from bench.worker.schedule import SECOND_NS, Phase, Schedule
from provisioning.hosts.looks import looks

_TICK_S = 0.25


class Run:
    """One run from ready to done. The first abort ends it; what was recorded until then is kept."""

    def __init__(self, spec: LoadSpec, schedule: Schedule, workers: Workers, hooks: Hooks) -> None:
        self._spec, self._limits = spec, spec.limits
        self._schedule = schedule
        self._workers = workers
        self._hooks = hooks
        self._start_ns: int | None = None
        self._producers_over_ns: int | None = None
        self._watched_ns: int | None = None
        self._phase_end: PhaseEnd | None = None
        self._warmup: WarmupWatch | None = None

    def follow(self) -> Abort | None:
        abort = self._await_ready()
        if abort is None:
            self._hooks.before_start()
            abort = self._listen(0)  # has one given up waiting for the start, or ended?
        if abort is None:
            self._offset_ns = max(worker.ready_offset_ns for worker in self._workers.all)
            self._start_ns = self._now_ns() + round(self._limits.lead_s * SECOND_NS)
            self._workers.tell(self._workers.all, {"start_ns": self._start_ns})
            self._told_s = time.monotonic()
            self._hooks.started(self._start_ns, (self._start_ns - self._now_ns()) / SECOND_NS)
            self._load_ends_s = self._told_s + self._limits.lead_s + self._schedule.duration_ns / SECOND_NS
            abort = self._follow_producers(self._start_ns)
            self._producers_over_ns = self._now_ns()
            abort = abort or self._drain()
            self._watched_ns = self._now_ns()
        self._end(abort)
        return abort

    def watched_until_ns(self) -> dict[str, int] | None:
        """Until when producers and consumers took notice of what came, since the epoch; None if the load never started."""
        if self._producers_over_ns is None or self._watched_ns is None:
            return None
        return {"producers": self._producers_over_ns, "consumers": self._watched_ns}

    def phases(self) -> tuple[Phase, ...]:
        """As they came about; none if the load never started."""
        if self._start_ns is None:
            return ()
        if self._phase_end is None:
            return self._schedule.phases(self._start_ns)
        return self._schedule.phases(self._start_ns, self._phase_end.at_ns, self._phase_end.end_ns)

    def caught_up(self) -> bool | None:
        """Whether a backlog was read in time; None if there was none, or the run ended before."""
        return self._phase_end.in_time if self._spec.workload.backlog and self._phase_end is not None else None

    def observations(self) -> dict[str, Any]:
        """What is to be kept with the trial of a warm-up that lasted until the system was steady."""
        return {"warmup": self._warmup.to_json()} if self._warmup is not None else {}

    def _now_ns(self) -> int:
        """Since the epoch, by the workers' clock."""
        return self._offset_ns + time.monotonic_ns()

    def _await_ready(self) -> Abort | None:
        workers = self._workers.all
        for _ in looks(self._limits.ready_s):
            abort = self._listen() or self._hooks.watch()
            if abort is not None:
                return abort
            late = [worker for worker in workers if worker.state == "starting"]
            if not late:
                return None
            self._hooks.on_progress(f"{len(workers) - len(late)} of {len(workers)} workers ready")
        names = ", ".join(worker.job.worker for worker in late)
        reason = f"{names} not connected within {self._limits.ready_s:g} s"
        return Abort("nothing-acknowledged", "outcome", reason, late[0].host.name)

    def _follow_producers(self, start_ns: int) -> Abort | None:
        watch = AcknowledgementWatch(self._limits.nothing_acknowledged_s)
        backlog = BacklogWatch(self._spec.workload, self._schedule, start_ns) if self._spec.workload.backlog else None
        self._warmup = WarmupWatch(self._schedule, start_ns) if self._schedule.until_steady else None
        producers = self._workers.of_role("producer")
        while not all(worker.over for worker in producers):
            abort = self._step() or watch.check(self._workers)
            if abort is not None:
                return abort
            if self._phase_end is None and backlog is not None:
                self._announce(backlog.found(self._workers, self._now_ns()))
            elif self._phase_end is None and self._warmup is not None:
                self._announce(self._warmup.found(self._now_ns()))
        return watch.check_end(self._workers, self._load_ends_s)

    def _announce(self, phase_end: PhaseEnd | None) -> None:
        """Tells all workers ahead when a phase will end, once it is known."""
        if phase_end is not None:
            self._phase_end = phase_end
            order = {"phase_ends_ns": phase_end.at_ns, "end_ns": phase_end.end_ns}
            self._workers.tell(self._workers.all, order)
            self._load_ends_s = time.monotonic() + (phase_end.end_ns - self._now_ns()) / SECOND_NS

    def _drain(self) -> Abort | None:
        """Waits until every subscription has what was acknowledged and nothing more comes, or it takes too long."""
        acked = self._workers.total("producer", "acked")
        began = moved = time.monotonic()
        before, told = -1, False
        while True:
            abort = self._step()
            if abort is not None:
                return abort
            now, received = time.monotonic(), self._workers.received()
            if sum(received.values()) != before:
                before, moved = sum(received.values()), now
            all_received = all(count >= acked for count in received.values())
            if all_received and not told:
                self._hooks.all_received()
                told = True
            # repeats count as receipts, so that reaching the number isn't enough: it must also have become quiet
            if all_received and now - moved > self._limits.quiet_s:
                return None
            if now - moved > self._limits.stalled_drain_s or now - began > self._spec.workload.drain_s:
                return None

    def _step(self) -> Abort | None:
        """Takes in the workers' events, shows the progress, and applies the rules about workers."""
        self._hooks.on_progress(self._workers.progress_line(self._load_ends_s - time.monotonic()))
        # listened to last: this thread may be held up anywhere, and a worker that wrote meanwhile hasn't been silent
        abort = self._hooks.watch() or self._listen()
        if abort is not None:
            return abort
        now = time.monotonic()
        limit_s = self._limits.silence_s
        silent = (of_silence(each, limit_s, now, since_s=self._told_s) for each in self._workers.all)
        return next((abort for abort in silent if abort is not None), None)

    def _listen(self, wait_s: float = _TICK_S) -> Abort | None:
        """Waits a moment for an event and takes in all that have arrived meanwhile, so that no worker that wrote counts as silent."""
        abort, worker = None, self._workers.next(wait_s)
        while worker is not None:
            if self._spec.sampled and self._start_ns is not None:
                self._workers.sample(worker, self._start_ns)
            if self._warmup is not None:
                self._warmup.note(worker)
            abort = abort or of_worker(worker)
            worker = self._workers.next(0)
        return abort

    def _end(self, abort: Abort | None) -> None:
        order = {"stop": True} if abort is None else {"abort": abort.reason}
        # a worker that has failed may still be in its loop: it is told, too
        told = [worker for worker in self._workers.all if worker.state not in ("done", "died", "lost")]
        self._workers.tell(told, order)
        for _ in looks(self._limits.ending_s):
            if all(worker.over for worker in self._workers.all):
                return
            self._listen()
