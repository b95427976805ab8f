"""Claims as data: the files of claims, one for each document. What isn't understood is refused when a file is read."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from analysis.claims.expression import names_in
from analysis.claims.figures import KEYS, Figure, Selection, matches
from analysis.claims.tolerance import Interval, interval, spread
from analysis.claims.verdict import Reason
from analysis.errors import AnalysisError

ONE, SMALLEST, LARGEST, ALL = "one", "min", "max", "all"
_TAKES = (ONE, SMALLEST, LARGEST, ALL)
_REASONS = {reason.word: reason for reason in Reason}
_LIMITS = ("above", "below", "at_least", "at_most")
_RELATIVE = ("", "times", "%")
# what a part is, told by its key -> its other keys
_PART_KEYS: Mapping[str, Sequence[str]] = {
    "reason": (),
    "holds": ("as_printed",),
    "figure": ("unit", "is", "from", "to", "within", "as_printed", *_LIMITS),
}


@dataclass(frozen=True)
class Named:
    """Rows of the evidence under a name. `take`: the one row there is, the smallest or largest of them, or all as an array."""

    selection: Selection
    take: str


@dataclass(frozen=True)
class Part:
    """A statement of a claim: a `figure` that lies in an `interval`, a condition that `holds` (both are expressions of
    analysis/claims/expression.py), or neither with its reason.

    `claimed` is what the interval says in words. `names`: the named evidence it needs. `as_printed`: why the printed figures can't
    decide it, though a campaign could.
    """

    what: str
    figure: str | None = None
    holds: str | None = None
    interval: Interval | None = None
    claimed: str = ""
    unit: str = ""
    within: str = ""
    reason: Reason | None = None
    as_printed: Reason | None = None
    names: tuple[str, ...] = ()

    @property
    def is_absolute(self) -> bool:
        """Whether it is about a quantity with a unit, which changes with the scale of a campaign."""
        return self.unit not in _RELATIVE


@dataclass(frozen=True)
class Claim:
    """One sentence of a document. `note`: what a reader of the verdict should know as well."""

    id: str
    sentence: str
    where: str
    values: Mapping[str, Named]
    parts: tuple[Part, ...]
    note: str


@dataclass(frozen=True)
class Cell:
    """Which trials of samebox's own campaigns measure what some published rows say. `durability`, `system` None: as the row says it."""

    selection: Selection
    experiment: str
    workload: str
    durability: str | None
    system: str | None = None


@dataclass(frozen=True)
class Document:
    """A published document: its claims, and where samebox repeats its figures."""

    name: str
    title: str
    source: str
    cells: tuple[Cell, ...]
    claims: tuple[Claim, ...]

    def cell_of(self, figure: Figure) -> Cell | None:
        """Where samebox repeats that figure: the first cell that fits."""
        return next((cell for cell in self.cells if matches(figure, cell.selection)), None)


def packaged_documents() -> tuple[Document, ...]:
    """The documents that come with samebox, by name."""
    folder = files("analysis.claims")
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".toml"))
    return tuple(read_document(folder.joinpath(name).read_text(encoding="utf-8"), name) for name in names)


def read_document(text: str, file: str) -> Document:
    """A file of claims. Raises AnalysisError with file, claim and valid choices for what isn't understood."""
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise AnalysisError(f"{file}: not valid TOML: {error}") from None
    _refuse_unknown(table, ("title", "source", "cells", "claims"), file)
    source = _text(table, "source", file)
    claims = tuple(_claim(entry, source, file) for entry in table.get("claims", []))
    ids = [claim.id for claim in claims]
    twice = sorted({each for each in ids if ids.count(each) > 1})
    if twice:
        raise AnalysisError(f"{file}: duplicate claim {', '.join(twice)}.")
    cells = tuple(_cell(entry, source, file) for entry in table.get("cells", []))
    return Document(file.removesuffix(".toml"), _text(table, "title", file), source, cells, claims)


def _claim(table: Mapping[str, Any], source: str, file: str) -> Claim:
    where = f"{file}, {table.get('id', 'a claim without id')}"
    _refuse_unknown(table, ("id", "sentence", "where", "rows", "values", "parts", "note"), where)
    shared = table.get("rows", {})
    values = {
        name: _named({**shared, **own}, source, f"{where}, {name}") for name, own in table.get("values", {}).items()
    }
    parts = tuple(_part(entry, tuple(values), where) for entry in table.get("parts", []))
    if not parts:
        raise AnalysisError(f"{where}: has no parts.")
    unused = set(values) - {name for part in parts for name in part.names}
    if unused:
        raise AnalysisError(f"{where}: no part needs {', '.join(sorted(unused))}.")
    own_id, sentence, place = (_text(table, key, where) for key in ("id", "sentence", "where"))
    return Claim(own_id, sentence, place, values, parts, table.get("note", ""))


def _named(table: Mapping[str, Any], source: str, where: str) -> Named:
    take = table.get("take", ONE)
    if take not in _TAKES:
        raise AnalysisError(f"{where}: take is {take!r}. Valid choices: {', '.join(_TAKES)}.")
    return Named(_selection({key: asked for key, asked in table.items() if key != "take"}, source, where), take)


def _selection(table: Mapping[str, Any], source: str, where: str) -> Selection:
    _refuse_unknown(table, KEYS, where)
    asked = {"source": source, **table}
    return {column: tuple(map(str, of if isinstance(of, list) else [of])) for column, of in asked.items()}


def _cell(table: Mapping[str, Any], source: str, file: str) -> Cell:
    where = f"{file}, cells"
    _refuse_unknown(table, ("rows", "experiment", "workload", "durability", "system"), where)
    rows = _selection(table.get("rows", {}), source, where)
    place = _text(table, "experiment", where), _text(table, "workload", where)
    return Cell(rows, *place, table.get("durability"), table.get("system"))


def _part(table: Mapping[str, Any], names: Sequence[str], where: str) -> Part:
    what = _text(table, "what", where)
    where = f"{where}, {what!r}"
    kind = next((kind for kind in _PART_KEYS if kind in table), "figure")
    _refuse_unknown(table, ("what", kind, *_PART_KEYS[kind]), where)
    if kind == "reason":
        return Part(what, reason=_reason(table["reason"], where))
    expression, is_condition = _text(table, kind, where), kind == "holds"
    try:
        stretch, claimed = (None, "") if is_condition else _stretch(table)
        used = names_in(expression, condition=is_condition)
    except (ValueError, KeyError) as error:
        raise AnalysisError(f"{where}: {error}.") from None
    if unknown := [name for name in used if name not in names]:
        raise AnalysisError(f"{where}: no value is named {unknown[0]!r}. Valid choices: {', '.join(names)}.")
    if not used:  # it would say nothing of the evidence
        raise AnalysisError(f"{where}: {expression!r} needs none of the claim's values.")
    return Part(
        what,
        figure=None if is_condition else expression,
        holds=expression if is_condition else None,
        interval=stretch,
        claimed=claimed,
        unit=table.get("unit", ""),
        within=table.get("within", ""),
        as_printed=_reason(table["as_printed"], where) if "as_printed" in table else None,
        names=used,
    )


def _reason(word: str, where: str) -> Reason:
    if word not in _REASONS:
        raise AnalysisError(f"{where}: unknown reason {word!r}. Valid choices: {', '.join(_REASONS)}.")
    return _REASONS[word]


def _stretch(table: Mapping[str, Any]) -> tuple[Interval, str]:
    """The interval that a part asks for, and its words."""
    limits = {name: float(table[name]) for name in _LIMITS if name in table}
    if limits:
        words = "asked: " + " and ".join(f"{name.replace('_', ' ')} {table[name]}" for name in limits)
        low, high = limits.get("above", limits.get("at_least")), limits.get("below", limits.get("at_most"))
        return Interval(low, high, "at_least" in limits, "at_most" in limits), words
    if "within" not in table or not ("is" in table or {"from", "to"} <= set(table)):
        raise ValueError(
            'needs "is", or "from" and "to", each "within" a tolerance, or a limit (' + ", ".join(_LIMITS) + ")"
        )
    if "is" in table:
        return interval(table["is"], table["within"]), f"claimed {table['is']}"
    return spread(table["from"], table["to"], table["within"]), f"claimed {table['from']} to {table['to']}"


def _text(table: Mapping[str, Any], key: str, where: str) -> str:
    value = table.get(key)
    if not isinstance(value, str) or not value:
        raise AnalysisError(f"{where}: {key} is missing or not a text.")
    return value


def _refuse_unknown(table: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    unknown = [key for key in table if key not in known]
    if unknown:
        raise AnalysisError(f"{where}: unknown key {unknown[0]!r}. Valid choices: {', '.join(known)}.")
