"""Many HTTP requests on a host: in as many agents as command lines hold them, in their order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from provisioning.hosts import agents
from provisioning.hosts.agents import HttpRequest, http
from provisioning.hosts.host import Host, ScriptedHost
from tests.orchestrator.folder_host import record

LONGEST_WORD_BYTES = 131_072  # what Linux takes (MAX_ARG_STRLEN)


def test_ten_thousand_requests_fit_their_command_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request for every partition of a topic is more than one command line holds."""
    asked: list[int] = []

    def ask(_host: Host, _agent: bytes, request: Mapping[str, Any], *, timeout_s: float) -> Any:
        assert timeout_s > 0
        assert len(agents.command(request)) < LONGEST_WORD_BYTES
        asked.append(len(request["requests"]))
        return {"responses": [{"status": 200, "body": one["url"]} for one in request["requests"]]}

    monkeypatch.setattr(agents, "ask", ask)
    urls = [f"http://127.0.0.11:8080/admin/v2/it's-topic-partition-{number}/internalStats" for number in range(10_000)]
    answers = http(
        ScriptedHost(record("broker-1", "broker", "/box")), [HttpRequest("GET", url) for url in urls], parallel=16
    )
    assert [answer.body for answer in answers] == urls
    assert 1 < len(asked) < 50
    assert http(ScriptedHost(record("broker-1", "broker", "/box")), []) == []
