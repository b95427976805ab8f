"""What tests of resumed campaigns share: a campaign of one system, and what must not change in what is finished."""

from __future__ import annotations

from bench.results.folder import Results

# workloads follow
HEAD = """
schema = 1
name = "killed"
question = "Does a campaign survive its orchestrator?"
seed = 1
systems = ["kafka"]
durability = [2]
blocks = 1
"""


def stamps(results: Results) -> dict[str, tuple[int, int]]:
    """What would change if a finished trial were touched."""
    files = {trial: (results.trial_dir(trial) / "trial.json").stat() for trial in results.finished()}
    return {trial: (stat.st_ino, stat.st_mtime_ns) for trial, stat in files.items()}
