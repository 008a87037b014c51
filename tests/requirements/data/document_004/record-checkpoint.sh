# Record lint checkpoint
jq --arg time "$(date -Iseconds)" --arg passed "$LINT_PASSED" '
  .checkpoints.lint.status = "completed" |
  .checkpoints.lint.last_run = $time |
  .checkpoints.lint.passed = ($passed == "true")
' "$STATE_FILE" > "$STATE_FILE.tmp" && mv "$STATE_FILE.tmp" "$STATE_FILE"
