// The trivial job with cc-hooks-ts.
import { defineHook, runHook } from "cc-hooks-ts";

const decision = { permissionDecision: "deny", permissionDecisionReason: "this would print secrets" };

await runHook(
  defineHook({
    trigger: { PreToolUse: { Bash: true } },
    run: (context) =>
      context.input.tool_input.command.includes("printenv")
        ? context.json({
            event: "PreToolUse",
            output: { hookSpecificOutput: { hookEventName: "PreToolUse", ...decision } },
          })
        : context.success(),
  }),
);
