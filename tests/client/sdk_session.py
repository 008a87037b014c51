"""Run by the Agent SDK's own interpreter: a session of several prompts; prints a JSON line for each message."""

import asyncio
import json
import sys

from claude_agent_sdk import (  # type: ignore[import-not-found]  # is in its own environment only
    ClaudeAgentOptions,
    ClaudeSDKClient,
    ResultMessage,
    SystemMessage,
)


async def main(binary: str, project: str, environ: dict[str, str], prompts: list[str]) -> None:
    """Send the prompts one after another in one session, with all settings loaded."""
    options = ClaudeAgentOptions(
        cli_path=binary,
        cwd=project,
        env=environ,
        model="claude-sonnet-4-5",
        setting_sources=["user", "project", "local"],
        include_hook_events=True,
    )
    async with ClaudeSDKClient(options) as client:
        for prompt in prompts:
            await client.query(prompt)
            async for message in client.receive_response():
                if isinstance(message, SystemMessage):
                    print(json.dumps({"line": message.data}))
                elif isinstance(message, ResultMessage):
                    print(json.dumps({"prompt": prompt, "result": message.result, "error": message.is_error}))


asyncio.run(main(sys.argv[1], sys.argv[2], json.loads(sys.argv[3]), sys.argv[4:]))
