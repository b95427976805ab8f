"""The data of a site, as small as it can be and still be read: what campaigns have in common is there once, and named by its number.

    {"schema": 1, "colours": {system: colour}, "tables": {table: [...]}, "campaigns": [...]}

`pages/js/model.js` puts it together again. Which keys and places hold a number of a table is said below.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from bench.site.reading import Shown

SITE_SCHEMA = 1
_IDENTITY_DIGITS = 16  # of a root, in links
_SENTENCES = ("caveats", "findings", "warnings", "differences")


class Table:
    """Different values, numbered in the order in which they were first met."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self._numbers: dict[str, int] = {}

    def number(self, value: Any) -> int:
        """The number of a value, which is added if it isn't there."""
        key = json.dumps(value, sort_keys=True)
        if key not in self._numbers:
            self._numbers[key] = len(self.values)
            self.values.append(value)
        return self._numbers[key]


class Packer:
    """Packs campaigns, and has the tables that they share."""

    def __init__(self) -> None:
        self.texts, self.promises, self.workloads, self.hosts = Table(), Table(), Table(), Table()
        self.trials, self.metrics = Table(), Table()

    def campaign(self, shown: Shown) -> dict[str, Any]:
        """One campaign. Texts, hosts and metrics are numbers; an entry is [contestant, system, version, promise (or null), workload,
        trials, not met, [[metric, median, values]...]], and what an import says of its file."""
        digest = shown.digest
        packed: dict[str, Any] = {
            "id": shown.identity[: len("import-") + _IDENTITY_DIGITS]
            if shown.root is None
            else shown.root[:_IDENTITY_DIGITS],
            "root": shown.root,
            "records": shown.records,
            "signed": shown.signed,
            "origin": self.texts.number(digest["origin"]),
            "entries": [self._entry(each) for each in digest["entries"]],
        }
        if shown.root is None or shown.lines is None:
            return packed
        return {
            **packed,
            **{key: self.texts.number(digest[key]) for key in ("campaign", "question", "date", "samebox")},
            **{key: self.texts.number(digest[key]) for key in ("commit", "profile", "scale", "certainty")},
            **{key: self._texts(digest[key]) for key in _SENTENCES},
            "changed": digest["changed"],
            "excluded": digest["excluded"],
            "hosts": self.hosts.number(digest["hosts"]),
            # its root isn't repeated in the line
            "verify": self.texts.number(shown.lines.verify.replace(shown.root, "ROOT")),
            "repeat": self._texts(shown.lines.repeat),
            "pairs": [self._pair(each) for each in digest["pairs"]],
            "faults": digest["faults"],
        }

    def tables(self) -> dict[str, list[Any]]:
        """All of them by name."""
        named = {"texts": self.texts, "promises": self.promises, "workloads": self.workloads, "hosts": self.hosts}
        return {name: table.values for name, table in {**named, "trials": self.trials, "metrics": self.metrics}.items()}

    def _texts(self, given: Sequence[str]) -> list[int]:
        return [self.texts.number(each) for each in given]

    def _entry(self, entry: Mapping[str, Any]) -> list[Any]:
        figures = [
            [self.metrics.number([each["metric"], each["unit"]]), each["median"], each["values"]]
            for each in entry["figures"]
        ]
        packed = [
            *self._texts([entry["contestant"], entry["system"], entry["version"]]),
            None if entry["promise"] is None else self.promises.number(entry["promise"]),
            self.workloads.number(entry["workload"]),
            self.trials.number(entry["trials"]),
            entry["not_met"],
            figures,
        ]
        return [*packed, entry["source"], entry["doubts"]] if "source" in entry else packed

    def _pair(self, pair: Mapping[str, Any]) -> list[Any]:
        """[metric's name, first entry, second entry, blocks, ratio, interval, verdict, why]"""
        return [
            self.texts.number(pair["metric"]),
            *(pair[key] for key in ("first", "second", "blocks", "ratio", "interval")),
            *self._texts([pair["verdict"], pair["why"]]),
        ]


def packed_site(shown: Sequence[Shown], colours: Mapping[str, str]) -> dict[str, Any]:
    """The whole document; `colours`: of systems in figures. The same campaigns give the same document."""
    packer = Packer()
    campaigns = [packer.campaign(each) for each in shown]
    return {"schema": SITE_SCHEMA, "colours": dict(colours), "tables": packer.tables(), "campaigns": campaigns}


def as_script(document: Mapping[str, Any], name: str) -> str:
    """A script that assigns the document to a variable: pages that are opened as files can't load data in any other way.

    It is parsed as JSON and never as a program, so no text and no key of a bundle is one.
    """
    said = json.dumps(document, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    quoted = said.replace("\\", "\\\\").replace("'", "\\'")
    return f"const {name} = JSON.parse('{quoted}');\n"
