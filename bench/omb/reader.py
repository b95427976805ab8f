"""YAML as OpenMessaging Benchmark reads it, into plain data. What would be read in two ways is refused or left a text."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from provisioning.document import read_text
from provisioning.errors import InvalidInput

MOST_BYTES = 2**20  # a workload is a page; PyYAML takes seconds for a megabyte
_DECIMAL = re.compile(r"[-+]?(0|[1-9][0-9_]{0,17})")  # what OpenMessaging Benchmark's own integers hold


class _Loader(yaml.SafeLoader):
    """Plain data only. A key that is given twice is an error; 0x10, 010, 1:30 and dates are texts, which no number accepts."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
            if key.value in seen:
                raise yaml.MarkedYAMLError(problem=f"key {key.value!r} is given twice", problem_mark=key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)

    def decimal(self, node: yaml.ScalarNode) -> int | str:
        """YAML 1.1 also knows octal numbers and those of base 60; a minute and a half would become 90."""
        text = self.as_written(node)
        return int(text.replace("_", "")) if _DECIMAL.fullmatch(text) else text

    def as_written(self, node: yaml.ScalarNode) -> str:
        """A day may be part of a name, also one that the calendar doesn't have."""
        return str(node.value)


_Loader.add_constructor("tag:yaml.org,2002:int", _Loader.decimal)
_Loader.add_constructor("tag:yaml.org,2002:timestamp", _Loader.as_written)


def read_yaml(path: Path) -> dict[str, Any]:
    """The file's keys and values; a key without a value isn't given. Raises InvalidInput if it is missing or malformed."""
    try:
        document = yaml.load(read_text(path, most_bytes=MOST_BYTES), Loader=_Loader)
    except RecursionError:
        raise InvalidInput(f"{path}: nested too deeply.") from None
    except yaml.YAMLError as error:
        raise InvalidInput(f"{path}: not valid YAML: {_told(error)}.") from None
    except (ValueError, KeyError) as error:  # how PyYAML refuses a value that isn't what its tag says, as in !!bool 7
        raise InvalidInput(f"{path}: not valid YAML: {error}.") from None
    if not isinstance(document, dict):
        raise InvalidInput(f"{path}: expected keys and values, such as 'topics: 1'.")
    return {str(key): value for key, value in document.items() if value is not None}


def _told(error: yaml.YAMLError) -> str:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        mark = error.problem_mark
        return f"{error.problem} (line {mark.line + 1}, column {mark.column + 1})"
    return " ".join(str(error).split())
