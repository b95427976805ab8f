"""What a stream, or a server in its place, answers to a message."""

from __future__ import annotations

import json

from systems.nats.wire_client import UNAVAILABLE, Message

# Numbers of errors: a message was sent again while the stream was still busy with it, or to one that doesn't lead the stream any more.
IN_PROCESS, NOT_LEADING = 10158, 10009


def is_stored(message: Message) -> bool:
    """Whether it is an acknowledgement: the stream has the message, be it from now or from before."""
    return not message.status and message.payload.startswith(b'{"stream":') and b'"error"' not in message.payload


def partition_in(acknowledgement: bytes) -> int:
    """The partition whose stream says that it has a message."""
    return int(json.loads(acknowledgement)["stream"].rpartition("-")[2])


def is_passing(message: Message) -> bool:
    """Whether what came instead of an acknowledgement may be another answer in a while: nobody is there, or nobody is able yet."""
    if message.status:
        return message.status == UNAVAILABLE
    try:
        error = json.loads(message.payload)["error"]
    except (ValueError, KeyError):
        return False
    return bool(error.get("code") == UNAVAILABLE or error.get("err_code") in (IN_PROCESS, NOT_LEADING))


def error_of(message: Message) -> str:
    """The name of what a stream, or its server, says instead of an acknowledgement."""
    if message.status:
        return "NoResponders" if message.status == UNAVAILABLE else f"Status{message.status}"
    try:
        error = json.loads(message.payload)["error"]
    except (ValueError, KeyError):
        return "NotAnAcknowledgement"
    return f"JetStream{error.get('err_code', error.get('code'))}"
