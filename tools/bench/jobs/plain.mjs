// The trivial job as a program of its own, without any framework.
let text = "";
for await (const part of process.stdin) text += part;
const event = JSON.parse(text);
if ((event.tool_input.command ?? "").includes("printenv")) {
  const decision = { permissionDecision: "deny", permissionDecisionReason: "this would print secrets" };
  process.stdout.write(JSON.stringify({ hookSpecificOutput: { hookEventName: "PreToolUse", ...decision } }));
}
