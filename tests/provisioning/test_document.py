"""Operator-written files into dataclasses: what is wrong is told with file, key and valid choices."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

from provisioning.document import build, parse_document, read_document
from provisioning.errors import InvalidInput


@dataclass(frozen=True)
class Pipe:
    """A part of the document below."""

    width_mm: int
    material: Literal["copper", "steel"] = "copper"


@dataclass(frozen=True)
class House:
    """A document for these tests."""

    schema: int
    name: str
    pipes: tuple[Pipe, ...]
    boiler: Pipe | None = None


WHOLE = 'schema = 1\nname = "h"\n[[pipes]]\nwidth_mm = 15\n'


def _write(folder: Path, text: str, name: str = "house.toml") -> Path:
    (folder / name).write_text(text)
    return folder / name


def test_toml_and_json_give_the_same(tmp_path: Path) -> None:
    """The ending decides the format; the content becomes the same frozen dataclass, defaults filled in."""
    expected = House(1, "h", (Pipe(15, "copper"),))
    assert parse_document(House, _write(tmp_path, WHOLE), schema=1) == expected
    json = '{"schema": 1, "name": "h", "pipes": [{"width_mm": 15}]}'
    assert parse_document(House, _write(tmp_path, json, "house.json"), schema=1) == expected


def test_a_missing_file_is_told_with_its_neighbours(tmp_path: Path) -> None:
    """A wrong file name is told with the files that are there."""
    _write(tmp_path, WHOLE, "home.toml")
    with pytest.raises(InvalidInput, match=r"hause\.toml: no such file") as caught:
        read_document(tmp_path / "hause.toml")
    assert "home.toml" in caught.value.next_step
    with pytest.raises(InvalidInput) as caught:
        read_document(tmp_path / "nowhere" / "house.toml")
    assert "has no .toml file" in caught.value.next_step


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("house.toml", "name = \n", r"house.toml: not valid TOML: .*line 1"),
        ("house.json", '{"name": }', r"house.json: not valid JSON: .*line 1"),
        ("house.json", "[1]", r"house.json: expected a table"),
    ],
)
def test_a_malformed_file_is_told_with_its_place(tmp_path: Path, name: str, text: str, message: str) -> None:
    """A file that isn't TOML or JSON is told with the place of the mistake."""
    with pytest.raises(InvalidInput, match=message):
        read_document(_write(tmp_path, text, name))


def test_a_file_that_is_not_text_is_told(tmp_path: Path) -> None:
    """A binary file, or a folder, is told instead of a traceback."""
    (tmp_path / "house.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidInput, match=r"house\.toml: can't be read"):
        read_document(tmp_path / "house.toml")
    (tmp_path / "folder.toml").mkdir()
    with pytest.raises(InvalidInput, match=r"folder\.toml: a folder; a file is needed"):
        read_document(tmp_path / "folder.toml")


def test_another_schema_is_refused(tmp_path: Path) -> None:
    """A file of another schema version is refused before its keys are looked at."""
    with pytest.raises(InvalidInput, match="schema is 2, this samebox reads schema = 1"):
        parse_document(House, _write(tmp_path, "schema = 2\nunknown = 1\n"), schema=1)


def test_an_unknown_key_is_told_with_the_valid_ones() -> None:
    """A misspelt key is told with the nearest and all valid keys of its own table, also deep inside."""
    with pytest.raises(InvalidInput) as caught:
        build(House, {"schema": 1, "nmae": "h", "name": "h", "pipes": []}, where="house.toml")
    message = str(caught.value)
    assert message.startswith("house.toml: unknown key 'nmae'. Did you mean 'name'?")
    assert "Valid keys: boiler, name, pipes, schema." in message
    with pytest.raises(InvalidInput) as caught:
        build(House, {"schema": 1, "name": "h", "pipes": [{"width_mm": 1, "width": 2}]}, where="house.toml")
    assert "Did you mean 'width_mm'? Valid keys: material, width_mm." in str(caught.value)


def test_a_wrong_value_is_told_with_the_choices() -> None:
    """A value outside its choices is told with the value given and the choices."""
    with pytest.raises(InvalidInput) as caught:
        build(House, {"schema": 1, "name": "h", "pipes": [{"width_mm": 1, "material": "lead"}]}, where="house.toml")
    message = str(caught.value)
    assert "house.toml: key 'pipes.0.material' = 'lead'" in message
    assert "'copper' or 'steel'" in message


def test_all_mistakes_are_told_at_once() -> None:
    """A missing key, an unknown key and a wrong type are one message of three lines."""
    with pytest.raises(InvalidInput) as caught:
        build(House, {"schema": 1, "pipes": [{"width_mm": "wide"}], "colour": "red"}, where="house.toml")
    lines = str(caught.value).splitlines()
    assert len(lines) == 3
    assert all(line.startswith("house.toml: ") for line in lines)
    assert "key 'name' is missing." in str(caught.value)
    assert "key 'pipes.0.width_mm' = 'wide'" in str(caught.value)
