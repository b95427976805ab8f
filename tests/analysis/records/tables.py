"""Arrow tables of a few rows, laid out as record files are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from analysis.records.counting import Times
from analysis.records.files import FILE
from analysis.schema import CONSUMED, HOSTS, PRODUCED

ALWAYS = Times(0, (0, 10**18), {})
MESSAGE = {"producer": 0, "partition": 0, "sequence": 0, "intended_ns": 0, "phase": "measure"}
RECEIPT = {**MESSAGE, "consumer": 0, "subscription": "s", "received_ns": 0, FILE: "a"}


def produced(rows: Iterable[Mapping[str, Any]]) -> pa.Table:
    """Scheduled messages; what a row doesn't say is 0, or null of what may be."""
    return pa.Table.from_pylist([{**MESSAGE, **row} for row in rows], PRODUCED)


def consumed(rows: Iterable[Mapping[str, Any]]) -> pa.Table:
    """Receipts, with the name of the file that each is read from."""
    return pa.Table.from_pylist([{**RECEIPT, **row} for row in rows], CONSUMED.append(pa.field(FILE, pa.string())))


def hosts(rows: Iterable[Mapping[str, Any]]) -> pa.Table:
    """Telemetry of one machine."""
    sample = {"host": "h", "source": "machine", "metric": "cpu_user_s", "kind": "counter"}
    return pa.Table.from_pylist([{**sample, **row} for row in rows], HOSTS)
