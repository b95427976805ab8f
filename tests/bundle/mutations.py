"""Random mutations of a bundle, each with what verifying must say of it. tests.bundle.trying tries them.

Three forgers: a careless one changes the file; one who rebuilds makes the sums, the root, the page and the signature anew; a careful
one also makes the counters of rows and bytes those of what is there now.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.parquet as pq

from bench.bundle.layout import SIGNATURE
from bench.bundle.reading import open_bundle
from bench.bundle.signature import sign
from bench.verify.difference import Kind
from tests.bundle.honest import count_again, rewrite
from tests.bundle.sealing import pack, sealed

Forger = Literal["careless", "rebuilds", "careful"]
MS = 1_000_000


@dataclass(frozen=True)
class Named:
    """What verifying must say of a mutation: one of these kinds, of something whose name holds `where`."""

    kinds: tuple[Kind | Literal["unreadable"], ...]
    where: str


@dataclass(frozen=True)
class World:
    """What mutations start from: the honest bundle, its files in a folder, and two keys, of which one is allowed to sign."""

    bundle: Path
    unpacked: Path
    key: Path
    other_key: Path
    allowed_signers: Path


class Draft:
    """A copy of the honest bundle's files that is changed and then made a bundle again."""

    def __init__(self, world: World, folder: Path, draw: random.Random, forger: Forger) -> None:
        self.world, self.draw, self.forger = world, draw, forger
        self.root = folder / "draft"
        shutil.copytree(world.unpacked, self.root)

    def trials(self) -> list[Path]:
        return sorted((self.root / "trials").iterdir())

    def record(self, kind: str) -> Path:
        return self.draw.choice(sorted(self.root.glob(f"trials/*/{kind}/*.parquet")))

    def named(self, file: Path, *kinds: Kind) -> Named:
        """What is said of a file whose sum tells it if it is the sums that weren't made anew."""
        name = str(file.relative_to(self.root))
        return (
            Named(("bytes",), name)
            if self.forger == "careless"
            else Named(kinds, name.removeprefix("trials/").split("/")[0])
        )

    def recount(self, trial: Path) -> None:
        if self.forger == "careful":
            count_again(trial)

    def seal(self, target: Path) -> None:
        """Writes the bundle; its seals are made anew unless the forger is careless."""
        files = {str(path.relative_to(self.root)): path.read_bytes() for path in self.root.rglob("*") if path.is_file()}
        pack(files if self.forger == "careless" else sealed(files, lambda root: sign(root, self.world.key)), target)


def byte(draft: Draft, target: Path) -> Named:
    """One byte of the file, anywhere."""
    content = bytearray(draft.world.bundle.read_bytes())
    content[draft.draw.randrange(len(content))] ^= 1 << draft.draw.randrange(8)
    target.write_bytes(content)
    return Named(("bytes", "form", "signature", "unreadable"), "")


def row_dropped(draft: Draft, target: Path) -> Named:
    """One message, or one receipt."""
    file = draft.record(draft.draw.choice(("produced", "consumed")))
    rows = pq.read_table(file)
    at = draft.draw.randrange(rows.num_rows)
    rewrite(file, pa.concat_tables([rows.slice(0, at), rows.slice(at + 1)]))
    draft.recount(file.parents[1])
    draft.seal(target)
    return draft.named(file, "records", "report")


def row_altered(draft: Draft, target: Path) -> Named:
    """One value of one row: another time, sequence, partition, producer or phase."""
    kind = draft.draw.choice(("produced", "consumed"))
    file = draft.record(kind)
    rows = pq.read_table(file)
    column = draft.draw.choice(ALTERED[kind])
    values = rows[column].to_pylist()
    measured = [
        at for at, phase in enumerate(rows["phase"].to_pylist()) if phase == "measure" and values[at] is not None
    ]
    at = draft.draw.choice(measured)
    values[at] = _another(values[at], column, rows["intended_ns"][at].as_py(), draft.draw)
    index = rows.schema.get_field_index(column)
    rewrite(file, rows.set_column(index, rows.schema.field(index), pa.array(values, rows.schema.field(index).type)))
    draft.recount(file.parents[1])
    draft.seal(target)
    return draft.named(file, "records", "report")


def file_swapped(draft: Draft, target: Path) -> Named:
    """Two record files, or the reports' tables of two trials, change places."""
    kind = draft.draw.choice(("produced", "consumed"))
    one = draft.record(kind)
    others = [path for path in sorted(draft.root.glob(f"trials/*/{kind}/*.parquet")) if path != one]
    other = draft.draw.choice(others)
    first, second = one.read_bytes(), other.read_bytes()
    one.write_bytes(second)
    other.write_bytes(first)
    for trial in {one.parents[1], other.parents[1]}:
        draft.recount(trial)
    draft.seal(target)
    return draft.named(one, "records")


def figure_edited(draft: Draft, target: Path) -> Named:
    """One digit of one figure, in any file of the report."""
    told = [path for path in sorted((draft.root / "report").rglob("*")) if path.suffix in (".json", ".csv", ".html")]
    file = draft.draw.choice(told)
    text = file.read_text()
    # of a number's first nine: what comes after the twelfth may be another CPU's
    digits = list(re.finditer(r"(?<![\d.])(?:0\.0*)?[1-9][\d.]{0,8}", text))
    number = draft.draw.choice(digits)
    found = draft.draw.choice(list(re.finditer(r"[1-9]", number.group())))
    at = number.start() + found.start()
    other = draft.draw.choice([digit for digit in "0123456789" if digit != found.group()])
    file.write_text(text[:at] + other + text[at + 1 :])
    draft.seal(target)
    name = str(file.relative_to(draft.root))
    return Named(("bytes",) if draft.forger == "careless" else ("report",), name)


def table_edited(draft: Draft, target: Path) -> Named:
    """One value of summary.parquet."""
    file = draft.root / "report" / "summary.parquet"
    rows = pq.read_table(file)
    values = rows["value"].to_pylist()
    at = draft.draw.choice([at for at, value in enumerate(values) if value is not None])
    values[at] = float(values[at] or 0.0) * draft.draw.uniform(0.5, 0.9) + 1e-9
    index = rows.schema.get_field_index("value")
    pq.write_table(rows.set_column(index, rows.schema.field(index), pa.array(values, pa.float64())), file)
    draft.seal(target)
    return Named(("bytes",) if draft.forger == "careless" else ("report",), "report/summary.parquet")


def trial_hidden(draft: Draft, target: Path) -> Named:
    """A trial that wasn't liked is gone; a careful forger strikes it from the order as well."""
    trial = draft.draw.choice(draft.trials())
    shutil.rmtree(trial)
    if draft.forger == "careful":
        manifest = json.loads((draft.root / "manifest.json").read_text())
        manifest["order"] = [entry for entry in manifest["order"] if entry["trial"] != trial.name]
        (draft.root / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")
    draft.seal(target)
    if draft.forger == "careful":
        return Named(("order",), "manifest.json")
    return Named(("bytes",), f"trials/{trial.name}") if draft.forger == "careless" else Named(("trial",), trial.name)


def order_changed(draft: Draft, target: Path) -> Named:
    """Two trials change places: in the manifest's order, or (a careful forger) in time."""
    one, other = draft.draw.sample(range(len(draft.trials())), 2)
    manifest = json.loads((draft.root / "manifest.json").read_text())
    if draft.forger == "careful":
        trial = draft.root / "trials" / manifest["order"][one]["trial"] / "trial.json"
        document = json.loads(trial.read_text())
        shift_ns = (other - one) * 600_000 * MS + draft.draw.choice((-1, 1)) * 10_000 * MS
        for step in document["steps"]:
            step["started_ns"] += shift_ns
            step["ended_ns"] += shift_ns
        trial.write_text(json.dumps(document, indent=1) + "\n")
        draft.seal(target)
        return Named(("times", "records"), "")
    order = manifest["order"]
    order[one], order[other] = order[other], order[one]
    (draft.root / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")
    draft.seal(target)
    return Named(("bytes",) if draft.forger == "careless" else ("order",), "manifest.json")


def another_signature(draft: Draft, target: Path) -> Named:
    """Signed by a key that isn't allowed; or not at all; or with a signature of another root."""
    how = draft.draw.choice(("other key", "none", "other root"))
    files = {str(path.relative_to(draft.root)): path.read_bytes() for path in draft.root.rglob("*") if path.is_file()}
    with open_bundle(draft.world.bundle) as bundle:
        root = bundle.root
    if how == "none":
        files = sealed(files)
    elif how == "other key":
        files[SIGNATURE] = sign(root, draft.world.other_key)
    else:
        files[SIGNATURE] = sign(hashlib.sha256(draft.draw.randbytes(8)).hexdigest(), draft.world.key)
    pack(files, target)
    return Named(("signature",), SIGNATURE)


def _another(value: object, column: str, intended_ns: int, draw: random.Random) -> object:
    if isinstance(value, str):
        return "warmup"
    assert isinstance(value, int)
    if column in ("acked_ns", "received_ns"):  # a latency is made better or worse, by at least a third
        return intended_ns + int((value - intended_ns) * draw.choice((draw.uniform(0.05, 0.67), draw.uniform(1.5, 5))))
    if column.endswith("_ns"):
        return value + draw.choice((-1, 1)) * draw.randrange(20 * MS, 200 * MS)
    return value + draw.choice((1, 2)) if column != "sequence" else value + draw.randrange(1, 50)


ALTERED = {
    "produced": ("acked_ns", "acked_ns", "sent_ns", "intended_ns", "sequence", "partition", "producer", "phase"),
    "consumed": ("received_ns", "received_ns", "intended_ns", "sequence", "partition", "producer", "phase"),
}
ALL: dict[Callable[[Draft, Path], Named], tuple[Forger, ...]] = {
    byte: ("careless",),
    row_dropped: ("careless", "rebuilds", "careful"),
    row_altered: ("careless", "rebuilds", "careful", "careful"),
    file_swapped: ("careless", "rebuilds", "careful"),
    figure_edited: ("careless", "rebuilds"),
    table_edited: ("careless", "rebuilds"),
    trial_hidden: ("careless", "rebuilds", "careful"),
    order_changed: ("careless", "rebuilds", "careful"),
    another_signature: ("rebuilds",),
}


def mutate(world: World, folder: Path, number: int, seed: int) -> tuple[str, Forger, Path, Named]:
    """Mutation number so many: what was done by whom, the bundle, and what must be said of it. The same for the same seed."""
    draw = random.Random(f"{seed} {number}")
    mutation = list(ALL)[number % len(ALL)]
    forger = draw.choice(ALL[mutation])
    target = folder / "mutated.samebox"
    named = mutation(Draft(world, folder, draw, forger), target)
    return mutation.__name__, forger, target, named
