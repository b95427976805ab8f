"""One region of AWS, asked service by service. It knows nothing of what the answers mean."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import boto3
import jmespath  # type: ignore[import-untyped]  # ships no types


@dataclass(frozen=True)
class Region:
    """One region's session. Clients are made once."""

    session: boto3.session.Session
    name: str

    @cached_property
    def _clients(self) -> dict[str, Any]:
        return {}

    def client(self, service: str) -> Any:
        """A service's client; untyped, because the kinds below are asked by name."""
        if service not in self._clients:
            self._clients[service] = self.session.client(service)  # type: ignore[call-overload]
        return self._clients[service]

    def items(self, service: str, operation: str, expression: str, **arguments: Any) -> Iterator[Any]:
        """What a JMESPath `expression` finds in all pages of an operation."""
        client = self.client(service)
        if client.can_paginate(operation):
            pages: Iterable[Any] = client.get_paginator(operation).paginate(**arguments)
        else:
            pages = [getattr(client, operation)(**arguments)]
        compiled = jmespath.compile(expression)
        for page in pages:
            yield from compiled.search(page) or ()
