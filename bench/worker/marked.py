"""The messages of a durability proof: text that names run and sequence, repeated to the message's end. Standard library only.

Repeated, so that a buffer that is printed in part, or read in two pieces, still shows it; text, so that it is printed as it is.
"""

from __future__ import annotations

import re

_LONGEST = 10**6


def marker(run: str, sequence: int) -> str:
    """What one message is known by wherever its bytes turn up."""
    return f"samebox-proof-{run}-{sequence:06d};"


def marked_payload(run: str, sequence: int, message_bytes: int) -> bytes:
    """A message. Raises ValueError for a sequence or size that a marker doesn't fit into."""
    text = marker(run, sequence).encode()
    if sequence >= _LONGEST or len(text) > message_bytes:
        raise ValueError(f"no marker for sequence {sequence} fits into {message_bytes} bytes")
    return (text * (message_bytes // len(text) + 1))[:message_bytes]


def sequences_in(text: str, run: str) -> set[int]:
    """The messages of the run that are at least in part in a printed buffer."""
    return {int(found) for found in re.findall(rf"samebox-proof-{re.escape(run)}-(\d{{6}});", text)}
