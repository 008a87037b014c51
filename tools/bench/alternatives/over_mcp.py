"""A minimal MCP server on stdio for hooks of the type `mcp_tool`, with one tool, `event`.

python -m tools.bench.alternatives.over_mcp [LAUNCHER]
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from tools.bench.alternatives.answering import Answering

TOOL = {"name": "event", "description": "Answers a hook event", "inputSchema": {"type": "object"}}


def main() -> None:
    """Answer requests until stdin ends, on copies of descriptors 0 and 1, which the relay replaces."""
    answering = Answering(sys.argv[1] if len(sys.argv) > 1 else None)
    with os.fdopen(os.dup(0), "rb") as requests, os.fdopen(os.dup(1), "wb", buffering=0) as replies:
        for line in requests:
            request = json.loads(line)
            if "id" not in request:
                continue
            reply = {"jsonrpc": "2.0", "id": request["id"], "result": result(request, answering)}
            replies.write(json.dumps(reply).encode() + b"\n")


def result(request: dict[str, Any], answering: Answering) -> dict[str, Any]:
    """Return the result of one request."""
    match request["method"]:
        case "initialize":
            known = {"protocolVersion": request["params"]["protocolVersion"], "capabilities": {"tools": {}}}
            return known | {"serverInfo": {"name": "bench", "version": "1"}}
        case "tools/list":
            return {"tools": [TOOL]}
        case "tools/call":
            payload = json.dumps(request["params"].get("arguments") or {}).encode()
            return {"content": [{"type": "text", "text": answering.answer(payload).decode()}]}
        case _:
            return {}


if __name__ == "__main__":
    main()
