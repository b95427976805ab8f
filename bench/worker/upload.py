"""Puts record files of a run into S3, on the client host that wrote them, with that host's own role. Started over SSH.

Its order is a line of JSON on standard input; it says on standard output, in JSON too, which file has arrived. See docs/records.md.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass

from pyarrow.fs import LocalFileSystem, S3FileSystem, copy_files

PARALLEL_TRANSFERS = 4


@dataclass(frozen=True)
class Order:
    """`files`: name -> bytes, below `directory` here and below `folder` (BUCKET/KEY) there."""

    region: str
    folder: str
    directory: str
    files: Mapping[str, int]

    def to_line(self) -> str:
        """As standard input has it."""
        return json.dumps(asdict(self))


def main() -> int:
    """Carries out one order. What fails is said on standard error; what has arrived by then stays."""
    order = Order(**json.loads(sys.stdin.readline()))
    # a stack may have an interface endpoint of its own; every other AWS client reads this variable by itself
    s3 = S3FileSystem(region=order.region, endpoint_override=os.environ.get("AWS_ENDPOINT_URL"))
    try:
        for name in upload(s3, order):
            print(json.dumps({"arrived": name}), flush=True)
    except OSError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def upload(s3: S3FileSystem, order: Order) -> Iterator[str]:
    """Names of files as they arrive. Raises OSError, also for one that isn't there as long as it is here."""

    def send(name: str) -> str:
        target = f"{order.folder}/{name}"
        copy_files(f"{order.directory}/{name}", target, source_filesystem=LocalFileSystem(), destination_filesystem=s3)
        size = s3.get_file_info(target).size
        if size != order.files[name]:
            raise OSError(f"{target} has {size} bytes instead of {order.files[name]}")
        return name

    with ThreadPoolExecutor(PARALLEL_TRANSFERS) as senders:
        under_way = [senders.submit(send, name) for name in order.files]
        try:
            for done in as_completed(under_way):
                yield done.result()
        except BaseException:
            senders.shutdown(cancel_futures=True)
            raise


if __name__ == "__main__":
    sys.exit(main())
