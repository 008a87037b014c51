// The trivial job with @goodfoot/claude-code-hooks, whose own compiler makes a program of it.
import { preToolUseHook, preToolUseOutput } from "@goodfoot/claude-code-hooks";

const decision = { permissionDecision: "deny", permissionDecisionReason: "this would print secrets" };

export default preToolUseHook({ matcher: "Bash" }, async (input) =>
  preToolUseOutput(input.tool_input.command.includes("printenv") ? { hookSpecificOutput: decision } : {}),
);
