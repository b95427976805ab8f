"""Recorded calls made short enough to lie here: `python -m tests.infra.permissions.recording RECORDED` writes provider_calls.jsonl.

RECORDED: JSON lines with `svc`, `method`, `path` and `body` of every call, as a proxy before moto sees them (README.md).
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode

from tests.infra.permissions.provider import RECORDED

# what a permission can depend on; no user data, keys, policies, sizes
JUDGED = re.compile(
    r"Action|TagSpecification\..*|(Tag|Tags\.member)\.\d+\.(Key|Value)|\w*Ids?|\w+Id\.\d+|KeyName|GroupName|Placement\.GroupName|"
    r"IamInstanceProfile\.Name|NetworkInterface\.1\.(SubnetId|SecurityGroupId\.1)|RoleName|InstanceProfileName|PolicyArn"
)


def compact(lines: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Recorded calls (svc, method, path, body each) as they lie here: equal ones once, without what no permission depends on."""
    shortened = Counter(json.dumps(_shortened(line)) for line in lines)
    return [json.loads(text) | {"times": times} for text, times in shortened.items()]


def _shortened(line: Mapping[str, Any]) -> dict[str, str]:
    place, _, query = line["path"].partition("?")
    body = line["body"]
    if place == "/":
        given = [(key, value) for key, value in parse_qsl(body) if JUDGED.fullmatch(key)]
        look = [("Action", value) for key, value in given if value.startswith("Describe") and "Attribute" not in value]
        body = urlencode(look or given, safe=":/*")
    elif line["svc"] == "s3":
        body = ""
    elif body:
        known = json.loads(body)
        target = {"Target": {"RoleArn": known["Target"]["RoleArn"]}} if "Target" in known else {}
        body = json.dumps({key: known[key] for key in ("GroupName", "Tags") if key in known} | target)
    kept = "&".join(flag for flag in query.split("&") if not flag.startswith("clientToken"))
    return {
        "service": line["svc"],
        "method": line["method"],
        "path": place + (f"?{kept}" if kept else ""),
        "body": body,
    }


if __name__ == "__main__":
    read = [json.loads(line) for line in Path(sys.argv[1]).read_text().splitlines()]
    RECORDED.write_text("".join(json.dumps(line) + "\n" for line in compact(read)))
