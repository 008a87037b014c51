// The trivial job with @mizunashi_mana/claude-code-hook-sdk.
import { runHook } from "@mizunashi_mana/claude-code-hook-sdk";

await runHook({
  preToolUseHandler: async (input) =>
    input.tool_input.command.includes("printenv")
      ? { decision: "block", reason: "this would print secrets" }
      : {},
});
