"""What librdkafka says when something goes wrong."""

from __future__ import annotations

import logging

_LOG_LINES = 100


def quiet_logger() -> logging.Logger:
    """Standard error, and no more than so many lines: a client in trouble repeats itself without end."""
    logger = logging.Logger("librdkafka", logging.ERROR)
    logger.addHandler(logging.StreamHandler())
    written = 0

    def first_lines(_record: logging.LogRecord) -> bool:
        nonlocal written
        written += 1
        return written <= _LOG_LINES

    logger.addFilter(first_lines)
    return logger
