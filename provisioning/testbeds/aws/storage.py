"""Files in S3: what is there, up, down."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import boto3
from botocore.config import Config

from provisioning.errors import InvalidInput, SameboxError
from provisioning.testbeds.aws.session import explained

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

REGIONAL = Config(signature_version="s3v4", s3={"addressing_style": "virtual"})
PARALLEL_TRANSFERS = 4  # each large file is itself sent in parallel parts
MEGABYTE = 10**6


@dataclass(frozen=True)
class Location:
    """A place in a bucket: a key, or what several keys begin with."""

    bucket: str
    key: str

    def __str__(self) -> str:
        return f"s3://{self.bucket}/{self.key}"


def location(uri: str) -> Location:
    """The place that a URI names; EMR writes s3n:// for what it was given as s3://."""
    scheme, separator, rest = uri.partition("://")
    bucket, _, key = rest.partition("/")
    if not separator or scheme not in ("s3", "s3n", "s3a") or not bucket:
        raise InvalidInput(f"{uri!r} isn't a place in S3: expected s3://BUCKET/KEY.")
    return Location(bucket, key)


class Bucket:
    """One bucket. Every failure is a SameboxError that names it."""

    def __init__(self, opened: boto3.session.Session, name: str) -> None:
        self._s3: S3Client = opened.client("s3")
        self._signing: S3Client = opened.client("s3", config=REGIONAL)
        self.name = name
        self._explained = partial(
            explained,
            refused="Is this the bucket of the stack that is selected, and has its results bucket been kept?",
            denied=f"Your credentials need s3:ListBucket, s3:GetObject, s3:PutObject and s3:DeleteObject on {name}.",
            cut_off="Run the same command again: what has arrived is kept.",
        )

    def at(self, key: str) -> Location:
        """A place in this bucket."""
        return Location(self.name, key)

    def exists(self, key: str) -> bool:
        """Whether there is an object of exactly this key."""
        return key in self.sizes(key)

    def sizes(self, prefix: str) -> dict[str, int]:
        """Key -> bytes of every object below a prefix."""
        with self._explained(f"list {self.at(prefix)}"):
            pages = self._s3.get_paginator("list_objects_v2").paginate(Bucket=self.name, Prefix=prefix)
            return {found["Key"]: found["Size"] for page in pages for found in page.get("Contents", [])}

    def read(self, key: str) -> bytes:
        """An object's content."""
        with self._explained(f"read {self.at(key)}"):
            return self._s3.get_object(Bucket=self.name, Key=key)["Body"].read()

    def upload(self, files: Mapping[str, Path], sent: Callable[[str], None]) -> None:
        """Sends files (key -> file), several at once; `sent` is told of each that has arrived. An object is there whole or not."""
        with self._explained(f"write to s3://{self.name}"):
            _in_parallel(lambda key: self._s3.upload_file(str(files[key]), self.name, key), list(files), sent)

    def fetch(self, files: Mapping[str, Path], arrived: Callable[[str], None]) -> None:
        """Brings objects (key -> file), several at once; `arrived` is told of each. A file is there whole or not."""

        def bring(key: str) -> None:
            file = files[key]
            file.parent.mkdir(parents=True, exist_ok=True)
            partial = file.with_name(f".partial-{file.name}")
            self._s3.download_file(self.name, key, str(partial))
            partial.replace(file)

        with self._explained(f"read from s3://{self.name}"):
            _in_parallel(bring, list(files), arrived)

    def link(self, key: str, valid_s: int) -> str:
        """A URL by which whoever has it reads this object, for so long, or until the credentials that sign it end.

        It names the bucket's own region: hosts reach S3 by an endpoint of theirs, which leads nowhere else.
        """
        with self._explained(f"sign a link to {self.at(key)}"):
            return self._signing.generate_presigned_url(
                "get_object", Params={"Bucket": self.name, "Key": key}, ExpiresIn=valid_s
            )

    def delete(self, keys: Sequence[str]) -> None:
        """Removes objects."""
        with self._explained(f"delete from s3://{self.name}"):
            for key in keys:
                self._s3.delete_object(Bucket=self.name, Key=key)

    def download(self, prefix: str, folder: Path) -> int:
        """Every object below `prefix` into `folder`, under the rest of its key; returns how many."""
        keys = [key for key in self.sizes(prefix) if not key.endswith("/")]
        files = {key: folder / key.removeprefix(prefix).lstrip("/") for key in keys}
        for key, file in files.items():
            if not file.resolve().is_relative_to(folder.resolve()):
                raise SameboxError(f"{self.at(key)} would be written outside of {folder}.")
        self.fetch(files, lambda _: None)
        return len(files)


def _in_parallel(transfer: Callable[[str], None], keys: Sequence[str], done: Callable[[str], None]) -> None:
    """One transfer per key, several at once; what hasn't begun is left when one fails, or on Ctrl-C."""
    with ThreadPoolExecutor(PARALLEL_TRANSFERS) as pool:
        under_way = {pool.submit(transfer, key): key for key in keys}
        try:
            for ended in as_completed(under_way):
                ended.result()
                done(under_way[ended])
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def so_far(sizes: Mapping[str, int], done: str, on_detail: Callable[[str], None]) -> Callable[[str], None]:
    """To be told each key of `sizes` (key -> bytes) once it has arrived; tells how much of all is `done` ("sent")."""
    total, arrived = sum(sizes.values()), 0

    def tell(key: str) -> None:
        nonlocal arrived
        arrived += sizes[key]
        on_detail(f"{arrived / MEGABYTE:.1f} of {total / MEGABYTE:.1f} MB {done}")

    return tell
