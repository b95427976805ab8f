"""A worker's connection to the system, kept for the next job if that asks for the same."""

from __future__ import annotations

from bench.worker.job import Job
from bench.worker.one_answer import probe
from systems.client import Acknowledgements, ClientModule, Consumer, Producer, connects_alike


class Answers:
    """Acknowledgements for whichever log is open. Its attributes are the log's own methods: no additional call per message."""

    def __init__(self, log: Acknowledgements) -> None:
        self.open(log)

    def open(self, log: Acknowledgements) -> None:
        """From now on, answers are this log's."""
        self.acknowledged = log.acknowledged
        self.failed = log.failed


class Connection:
    """The client of the last job. It is kept only if no answer is outstanding: that would count for a message of the next job."""

    def __init__(self) -> None:
        self._job: Job | None = None
        self._producer: tuple[Producer, Answers, float | None] | None = None
        self._consumer: Consumer | None = None

    def producer(self, job: Job, module: ClientModule, log: Acknowledgements) -> tuple[Producer, float | None]:
        """The client, and how many milliseconds the probe took, if there was one. Raises ClientError."""
        if self._fits(job) and self._producer is not None:
            client, answers, probed_ms = self._producer
            answers.open(log)
            return client, probed_ms
        self.close()
        probed_ms = probe(job, module) if job.probe_topic else None
        answers = Answers(log)
        client = module.connect_producer(job.client, answers)
        self._job, self._producer = job, (client, answers, probed_ms)
        return client, probed_ms

    def consumer(self, job: Job, module: ClientModule) -> Consumer:
        """The client, always a new one for a consumer that is held back. Raises ClientError."""
        if self._fits(job) and self._consumer is not None and not job.held_back:
            return self._consumer
        self.close()
        self._consumer = module.connect_consumer(job.client, job.subscription or "", job.worker)
        self._job = job
        return self._consumer

    def close(self) -> None:
        """Disconnects. Idempotent, bounded in time, never raises."""
        for client in (self._producer[0] if self._producer is not None else None, self._consumer):
            if client is not None:
                client.close()
        self._job = self._producer = self._consumer = None

    def _fits(self, job: Job) -> bool:
        last = self._job
        if last is None or (last.subscription, last.worker) != (job.subscription, job.worker):
            return False
        return connects_alike(last.client, job.client)
