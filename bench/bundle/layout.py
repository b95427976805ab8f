"""What is where in a bundle (docs/evidence.md), beside the files of the results folder, which keep their names."""

from __future__ import annotations

from contract import results_folder as layout

BUNDLE_SCHEMA = 1
ENDING = ".samebox"
SUMS = "SHA256SUMS"
ABOUT = "bundle.json"
VERSIONS = "versions"  # what the software that ran was pinned by
KIT_LOCK = f"{VERSIONS}/requirements.lock"
# made of the root, which is why the root can't be over them
COVER, SIGNATURE = "index.html", f"{SUMS}.sig"
OF_THE_ROOT = frozenset({SUMS, COVER, SIGNATURE})
# what --without-records leaves out: rows of messages. Telemetry stays, a few kilobytes a trial
MESSAGES = ("produced", "consumed")
REPORT_PAGE = f"{layout.REPORT}/index.html"
REPORT_DONE = f"{layout.REPORT}/_SUCCESS"


def is_message_record(name: str) -> bool:
    """Whether a file of a results folder holds rows of messages."""
    parts = name.split("/")
    return len(parts) == 4 and parts[0] == layout.TRIALS and parts[2] in MESSAGES
