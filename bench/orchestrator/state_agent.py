"""Runs on the orchestrator's host, handed to its python3 over standard input: claims the folder, reads what is in it.

Standard library only, Python 3.9 and later. One request (JSON, first argument) in, one answer (JSON, standard output) out.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

LOG_TAIL_BYTES = 4000
LOG_PIECE_BYTES = 256 * 1024


def claim(request: dict[str, Any]) -> dict[str, Any]:
    """Makes the folder, which only the first caller can."""
    folder = Path(request["folder"])
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        return {"claimed": False}
    write(folder / "claim.json", request["claim"])
    return {"claimed": True}


def state(request: dict[str, Any]) -> dict[str, Any]:
    """Claim, progress, outcome, and the log from a byte on (null: its end). No folder: the claim is null."""
    folder = Path(request["folder"])
    if not folder.is_dir():
        return {"claim": None}
    # the outcome before the log: a campaign that has ended writes no more, so that its log is whole
    answer: dict[str, Any] = {name: read(folder / f"{name}.json") for name in ("progress", "outcome")}
    answer["claim"] = read(folder / "claim.json") or {}
    log = folder / "log"
    size = log.stat().st_size if log.exists() else 0
    begin = max(0, size - LOG_TAIL_BYTES) if request["log_from"] is None else request["log_from"]
    if begin > size:  # it was started again, by somebody else, with a new log
        begin = 0
    text = b""
    if size > begin:
        with log.open("rb") as file:
            file.seek(begin)
            text = file.read(LOG_PIECE_BYTES)
            # whole lines only: the rest of a line comes with the next request
            text = text[: text.rfind(b"\n") + 1]
    answer.update(log=text.decode(errors="replace"), log_end=begin + len(text))
    return answer


def files(request: dict[str, Any]) -> dict[str, Any]:
    """The files of a results folder, with their sizes: the campaign's, each finished trial's, and notes (attempts at other trials,
    probes between trials). The request has the patterns of each."""
    folder = Path(request["folder"])
    if not (folder / request["manifest"]).exists():
        return {"campaign": {}, "trials": {}, "notes": {}}
    trials = {}
    for trial in sorted(folder.glob(request["whole_trials"])):
        trials[trial.parent.name] = listing(trial.parent, trial.parent.rglob("*"))

    def matching(patterns: list[str]) -> dict[str, int]:
        return listing(folder, [path for pattern in patterns for path in folder.glob(pattern)])

    return {"campaign": matching(request["begun"]), "trials": trials, "notes": matching(request["noted"])}


def listing(folder: Path, paths: Any) -> dict[str, int]:
    """Path below the folder -> bytes, of files."""
    return {str(path.relative_to(folder)): path.stat().st_size for path in sorted(paths) if path.is_file()}


def read(path: Path) -> Any:
    """A JSON file's content; null if there is none."""
    try:
        return json.loads(path.read_text())
    except FileNotFoundError:
        return None


def write(path: Path, document: Any) -> None:
    """Writes JSON aside and renames it into place."""
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    aside.write_text(json.dumps(document))
    aside.rename(path)


def main() -> None:
    """Answers one request."""
    request = json.loads(sys.argv[1])
    print(json.dumps({"claim": claim, "state": state, "files": files}[request["verb"]](request)))


if __name__ == "__main__":
    main()
