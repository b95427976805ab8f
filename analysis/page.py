"""Draws the report's page from its data and figures, into one file without any outside reference."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from analysis import formatting
from analysis.bounded import exactly, from_json
from analysis.drawing import Drawings
from analysis.percentiles import TABLE_QUANTILES, quantile_name
from analysis.promise import variant_words

_TEMPLATES = "templates"


def render_page(report: Mapping[str, Any], drawings: Drawings) -> str:
    """The page as HTML text."""
    environment = Environment(
        loader=FunctionLoader(_resource),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    filters: tuple[Callable[..., str], ...] = (
        *(formatting.number, formatting.quantity, formatting.size, formatting.ratio, formatting.moment),
        *(formatting.words, formatting.plain, formatting.p_value, formatting.ratios),
        *(formatting.bounded, formatting.bounded_number, formatting.bounded_quantity),
        formatting.within_quantity,
    )
    environment.filters["turned"] = _turned
    environment.filters.update({function.__name__: _with_value(function) for function in filters})
    template = environment.get_template("report.html.j2")
    return template.render(
        report=report,
        manifest=report["manifest"],
        drawings=drawings,
        css=_resource("report.css"),
        sortable=_resource("sortable.min.js"),
        quantiles=_shown_quantiles(report),
        variant_words=variant_words,
        vetting_rows=_vetting_rows(report["vetting"]),
    )


def _with_value(shown: Callable[..., str]) -> Callable[..., str]:
    """The filter, with a number's full value beside what is shown of it: tables sort by that."""

    def filtered(value: Any, *arguments: Any) -> str:
        text = shown(value, *arguments)
        key = _sorted_as(value) if isinstance(value, Mapping) else value
        if isinstance(key, bool) or not isinstance(key, int | float):
            return text
        return Markup('<data value="{}">{}</data>').format("Infinity" if key == math.inf else key, text)

    return filtered


def _turned(ratio: Mapping[str, Any]) -> dict[str, Any]:
    """The ratio the other way round."""
    return exactly(1.0).over(from_json(ratio)).to_json()


def _sorted_as(known: Mapping[str, Any]) -> float:
    """What has no upper bound sorts last; what has no value, by its upper bound."""
    if known["value"] is not None:
        return float(known["value"])
    return math.inf if known["high"] is None else float(known["high"])


def _shown_quantiles(report: Mapping[str, Any]) -> list[str]:
    """The percentiles for which at least one trial has enough samples."""
    entries = [entry for trial in report["trials"] for entry in trial["latencies"]]
    names = [quantile_name(quantile) for quantile in TABLE_QUANTILES]
    return [
        name
        for name in names
        if any(entry["ms"].get(name) is not None or name in entry["more_than_ms"] for entry in entries)
    ]


def _vetting_rows(vetting: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Verdicts on hosts; those that read the same (hosts that share a disk) become one row."""
    rows: dict[tuple[str, ...], list[str]] = {}
    for host, document in vetting.items():
        for verdict in document["verdicts"]:
            shown = verdict.get("shown") or (verdict.get("measured"), verdict.get("expected"))
            deviation = verdict.get("deviation")
            line = (
                formatting.plain(verdict.get("device")),
                formatting.plain(verdict.get("metric")),
                formatting.plain(shown[0]),
                formatting.plain(shown[1]),
                f"{deviation:+.1%}" if isinstance(deviation, int | float) else formatting.plain(deviation),
                formatting.plain(verdict.get("rule")),
                str(verdict.get("verdict", "unknown")),
                str(verdict.get("sentence", "")),
            )
            rows.setdefault(line, []).append(host)
    keys = ("device", "metric", "measured", "expected", "deviation", "rule", "verdict", "sentence")
    return [{"hosts": ", ".join(hosts), **dict(zip(keys, line, strict=True))} for line, hosts in rows.items()]


def _resource(name: str) -> str:
    return files("analysis").joinpath(_TEMPLATES, name).read_text(encoding="utf-8")
