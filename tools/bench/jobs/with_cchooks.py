"""The trivial job with cchooks."""

from cchooks import PreToolUseContext, create_context

context = create_context()
assert isinstance(context, PreToolUseContext)
if "printenv" in context.tool_input.get("command", ""):
    context.output.deny("this would print secrets")
