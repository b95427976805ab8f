"""Runs on a host, handed to its python3 over standard input: makes HTTP requests there.

Standard library only, Python 3.9 and later. One request (JSON, first argument) in, one answer (JSON, standard output) out.
"""

from __future__ import annotations

import json
import sys
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from typing import Any

# A proxy that the environment names must never be asked for a broker's address.
HTTP = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def http(request: dict[str, Any]) -> dict[str, Any]:
    """Performs HTTP requests, up to `parallel` at once, and returns their statuses and bodies in order."""
    with ThreadPoolExecutor(max_workers=request["parallel"]) as pool:
        return {"responses": list(pool.map(lambda one: exchange(one, request["timeout_s"]), request["requests"]))}


def exchange(one: dict[str, Any], timeout_s: float) -> dict[str, Any]:
    """One HTTP request; an error status is an answer like any other, no connection is status 0."""
    body = None if one["body"] is None else one["body"].encode()
    headers = {"Content-Type": "application/json"} if body is not None else {}
    try:
        with HTTP.open(
            urllib.request.Request(one["url"], data=body, method=one["method"], headers=headers), timeout=timeout_s
        ) as response:
            return {"status": response.status, "body": response.read().decode(errors="replace")}
    except urllib.error.HTTPError as error:
        if error.code == 307 and error.headers["Location"]:  # urllib follows it for GET only
            return exchange({**one, "url": error.headers["Location"]}, timeout_s)
        return {"status": error.code, "body": error.read().decode(errors="replace")}
    except OSError as error:
        return {"status": 0, "body": str(error)}


def main() -> None:
    """Answers one request."""
    print(json.dumps(http(json.loads(sys.argv[1]))))


if __name__ == "__main__":
    main()
