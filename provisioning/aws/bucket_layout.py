"""What lies where in the results bucket."""

from __future__ import annotations

LOGS = "logs/emr/"


def results_folder(name: str) -> str:
    """A campaign's results, laid out as in docs/records.md."""
    return f"results/{name}"


def report_folder(name: str, digest: str) -> str:
    """A report on them, one for each content of results, code and packages."""
    return f"reports/{name}/{digest}"


def code_folder(digest: str) -> str:
    """What the job of that digest consists of, but for its packages, which many share."""
    return f"code/{digest}"
