"""The digest of one campaign, out of its report.json."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from analysis.digest.conditions import hosts_of
from analysis.digest.entries import entries_of
from analysis.digest.faults import faults_of
from analysis.digest.pairs import pairs_of
from analysis.digest.reading import digested, text
from analysis.documents import require_known_schema, require_shape

_KNOWN = {"value": object, "low": float, "high": object}
_SHAPE = {
    "manifest": {
        "campaign": str,
        "question": str,
        "created_ns": int,
        "samebox_version": str,
        "git": {},
        "testbed": {"testbed": {"kind": str}, "hosts": [{"name": str, "role": str, "instance_type": str}]},
        "facts": {},
        "system_profile": {"name": str},
        "caveats": [str],
    },
    "answer": {"findings": [str], "certainty": str, "warnings": [str]},
    "comparisons": [{"metric": str, "blocks": [object], "median": _KNOWN, "interval": object, "verdict": str}],
    "trials": [
        {
            "trial": str,
            "contestant": str,
            "system": str,
            "version": str,
            "block": int,
            "block_kind": str,
            "validity": str,
            "durability": {"level": int, "replication": str, "local": str, "promise": str},
            "workload": {"name": str, "rate_per_s": float, "pacing": str},
            "counts": {"acknowledged": int},
        }
    ],
    "checks": [{"trial": str, "check": str, "axis": str, "verdict": str}],
    "summary": [{"trial": str, "metric": str, "unit": str, **_KNOWN}],
}
_MOST_SENTENCES = 40
_COMMIT = re.compile(r"[0-9a-f]{40}")
OWN = "samebox"


def digest_of(report: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Raises AnalysisError, naming `where`, for what isn't a report of this version."""
    require_known_schema(report, where, next_step="Use the version of samebox that made its report.")
    return digested(where, lambda: _digest(report))


def _digest(report: Mapping[str, Any]) -> dict[str, Any]:
    require_shape(report, _SHAPE)
    manifest, answer = report["manifest"], report["answer"]
    entries, commit = entries_of(report), manifest["git"].get("commit")
    return {
        "origin": OWN,
        "campaign": text(manifest["campaign"], 80),
        "question": text(manifest["question"]),
        "date": datetime.fromtimestamp(manifest["created_ns"] // 10**9, UTC).date().isoformat(),
        "created_ns": manifest["created_ns"],
        "samebox": text(manifest["samebox_version"], 40),
        "commit": commit if isinstance(commit, str) and _COMMIT.fullmatch(commit) else None,
        "changed": manifest["git"].get("dirty") is not False,
        "hosts": hosts_of(manifest),
        "profile": text(manifest["system_profile"]["name"], 80),
        "scale": text(manifest["scale"], 400) if manifest.get("scale") else None,
        "caveats": _sentences(manifest["caveats"]),
        "findings": _sentences(answer["findings"]),
        "certainty": text(answer["certainty"]),
        "warnings": _sentences(answer["warnings"]),
        "differences": _sentences(each["sentence"] for each in report.get("contestant_differences") or []),
        "excluded": len(report.get("excluded") or []),
        "entries": [each.to_json() for each in entries.values()],
        "pairs": pairs_of(report, entries),
        "faults": faults_of(report, entries),
    }


def _sentences(given: Iterable[str]) -> list[str]:
    return [text(each) for each in islice(given, _MOST_SENTENCES)]
