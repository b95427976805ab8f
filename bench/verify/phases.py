"""Which phase of a trial an intended time falls in, as its trial.json says it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.worker.records import phase_column
from bench.worker.schedule import Phase


def phase_names(intended: NDArray[np.int64], phases: Sequence[Mapping[str, Any]]) -> NDArray[Any]:
    """The name of the phase of each intended time (ns since the epoch)."""
    told = [Phase(str(each["name"]), int(each["start_ns"]), int(each["end_ns"])) for each in phases]
    return phase_column(intended, told).to_numpy(zero_copy_only=False)
