"""What lies where in the results bucket."""

from __future__ import annotations

LOGS = "logs/emr/"
SOFTWARE = "software/"  # infra/results_bucket.py has it removed after a day


def results_folder(name: str) -> str:
    """A campaign's results, laid out as in docs/records.md."""
    return f"results/{name}"


def report_folder(name: str, digest: str) -> str:
    """A report on them, one for each content of results, code and packages."""
    return f"reports/{name}/{digest}"


def code_folder(digest: str) -> str:
    """What the job of that digest consists of, but for its packages, which many share."""
    return f"code/{digest}"


def software_archive(digest: str) -> str:
    """An archive on its way to hosts, by its SHA-256."""
    return f"{SOFTWARE}{digest}.tar"
