"""What is wrong with a stack's config, without Pulumi, its login or its passphrase: what `pulumi preview` would say of it first.

`python -m infra.config_check` in the project's folder reads {"texts": {key: text}, "secret_keys": [key]} and writes a JSON list of
sentences, empty if the config is sound. No network is used.
"""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime

from infra.settings import InvalidSettings, parse_settings


def problems_of(document: str) -> list[str]:
    """The sentences for a config as it comes on standard input."""
    config = json.loads(document)
    try:
        parse_settings(config["texts"], secret_keys=config["secret_keys"], now=datetime.now(UTC))
    except InvalidSettings as error:
        return list(error.problems)
    return []


if __name__ == "__main__":
    print(json.dumps(problems_of(sys.stdin.read())))
