"""Bundles of made-up reports: whole bundles with sums, root and page, of campaigns that never ran. Test material only."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.bundle.layout import ABOUT, REPORT_DONE, REPORT_PAGE
from bench.bundle.reading import open_bundle
from contract import results_folder as layout
from tests.bundle.sealing import pack, sealed


def bundle_of(report: Mapping[str, Any], target: Path, *, records: bool = True) -> str:
    """Writes the bundle of a report and returns its root."""
    campaign = report["manifest"]["campaign"]
    files = {
        ABOUT: _json({"schema": 1, "campaign": campaign, "records": records}),
        layout.MANIFEST: _json(report["manifest"]),
        layout.CAMPAIGN: f'name = "{campaign}"\n'.encode(),
        "report/report.json": _json(report),
        REPORT_PAGE: b"<p>a report</p>\n",
        REPORT_DONE: b"",
    }
    target.parent.mkdir(parents=True, exist_ok=True)
    pack(sealed(files), target)
    with open_bundle(target) as bundle:
        return bundle.root


def _json(document: Mapping[str, Any]) -> bytes:
    return (json.dumps(document, indent=1) + "\n").encode()
