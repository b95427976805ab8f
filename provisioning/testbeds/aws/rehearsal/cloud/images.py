"""DescribeImages as EC2 does it where moto differs: an image of Amazon's is deprecated 90 days after it was made.

A deprecated image is found by its id, or by a search that includes deprecated ones, and by no other; it launches as before.
https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ami-deprecate.html
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from moto.core.responses import ActionResult
from moto.ec2.responses import EC2Response

from provisioning.testbeds.aws.rehearsal.cloud.local_cloud import injected

# Amazon Linux 2023's: al2023-ami-2023.8.20250908 was made on 2025-09-06 and deprecated on 2025-12-05
LIFE = timedelta(days=90)
_moto_describe_images = EC2Response.describe_images


def install(state_dir: Path) -> None:
    """Puts this DescribeImages in the place of moto's. An image was made when the cloud was, or as long ago as a test says."""

    def describe_images(self: Any) -> ActionResult:
        found: Any = _moto_describe_images(self).result
        now, age = datetime.now(UTC), timedelta(days=injected(state_dir).images_age_days)
        named = self._get_param("ImageIds", [])
        every = self._get_bool_param("IncludeDeprecated", False)
        images = []
        for image in found["Images"]:
            made = image.creation_date.replace(tzinfo=UTC) - age
            end = made + LIFE if image.owner_alias == "amazon" else None
            image.deprecation_time = f"{end:%Y-%m-%dT%H:%M:%S.000Z}" if end else None
            if every or image.id in named or end is None or now < end:
                images.append(image)
        return ActionResult({"Images": images})

    EC2Response.describe_images = describe_images  # type: ignore[method-assign]
