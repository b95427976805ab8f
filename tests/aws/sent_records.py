"""Results whose records the client hosts have sent to a bucket, made from results that are all here."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from bench.results.folder import Results


def let_hosts_send_records(
    results: Results, bucket: str, *, send: Callable[[str, Path], None] = lambda _name, _file: None
) -> dict[str, int]:
    """Moves the records away, each by `send` (name inside the results, file). Returns name -> bytes."""
    manifest = results.manifest()
    manifest["testbed"]["records_bucket"] = {"name": bucket, "region": "us-west-2"}
    results.manifest_file.write_text(json.dumps(manifest))
    sent: dict[str, int] = {}
    for trial in results.finished():
        folder = results.trial_dir(trial)
        records: dict[str, int] = {}
        for file in [file for kind in ("produced", "consumed") for file in sorted((folder / kind).glob("*.parquet"))]:
            name = str(file.relative_to(folder))
            records[name] = file.stat().st_size
            send(f"trials/{trial}/{name}", file)
            file.unlink()
        document = {**json.loads((folder / "trial.json").read_text()), "records": records}
        (folder / "trial.json").write_text(json.dumps(document))
        sent |= {f"trials/{trial}/{name}": size for name, size in records.items()}
    return sent
