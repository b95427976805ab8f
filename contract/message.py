"""The header that names a message, little endian: magic, layout version, run, producer, sequence, intended time."""

from __future__ import annotations

import struct

MAGIC = b"sbx1"
LAYOUT_VERSION = 2
HEADER = struct.Struct("<4sHHIiqq")
HEADER_BYTES = HEADER.size
