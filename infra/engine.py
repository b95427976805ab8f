"""The check that the engine is one that this program works with: an older one leaves a host alone whose generation is raised.

Pulumi.yaml says from which version on, as `requiredPulumiVersion`, which a CLI before 3.219 doesn't read.
"""

from __future__ import annotations

from pathlib import Path

import pulumi
import pulumi.runtime
import yaml

PROJECT_FILE = Path(__file__).resolve().parents[1] / "Pulumi.yaml"


def required_version() -> str:
    """The range of versions, such as >=3.226.0."""
    return str(yaml.safe_load(PROJECT_FILE.read_text())["requiredPulumiVersion"])


def require_engine() -> None:
    """Raises RunError, which Pulumi prints without a traceback, for an engine outside the range."""
    try:
        pulumi.runtime.require_pulumi_version(required_version())
    except Exception as error:  # the SDK raises no narrower type
        raise pulumi.RunError(
            f"this program needs Pulumi {required_version()}; install a newer one (https://www.pulumi.com/docs/install/): {error}"
        ) from None
