"""The words of a report's documents, for those who read them without what made them: verdicts, kinds of blocks, headline metrics."""

from __future__ import annotations

VALIDITY, OUTCOME = "validity", "outcome"
VALID, WARN, INVALID, UNKNOWN = "valid", "warn", "invalid", "unknown"
MET, NOT_MET = "met", "not met"
WORST_FIRST = (INVALID, UNKNOWN, WARN, VALID)
EXCLUDED = (INVALID, UNKNOWN)
AA, AB = "A/A", "A/B"  # blocks of one system against itself, and of two
OPEN_LOOP = "open-loop"  # a rate that is fixed beforehand
SEARCH = "search"
CLOSED_LOOP = "closed-loop"
RATE = "throughput_achieved"
# what contestants are compared by, in this order
HEADLINES = (
    RATE,
    "catch_up_time",
    "drain_rate",
    "drain_rate_peak",
    "publish_latency_p50",
    "publish_latency_p99",
    "publish_latency_p99.9",
    "response_latency_p50",
    "response_latency_p99",
    "end_to_end_latency_p50",
    "end_to_end_latency_p99",
    # of each fault
    "fault_gap",
    "fault_gap_of_a_partition",
    "fault_response_back_after",
    "fault_end_to_end_back_after",
    "fault_late_messages",
)
