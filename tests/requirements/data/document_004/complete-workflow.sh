# Mark workflow complete and move to completed/
jq --arg time "$(date -Iseconds)" '
  .workflow.status = "completed" |
  .workflow.completed_at = $time
' "$STATE_FILE" > "$STATE_FILE.tmp"

mv "$STATE_FILE.tmp" ".claude/workflow-state/completed/$(basename $STATE_FILE)"

# Update index
jq --arg id "$WORKFLOW_ID" '
  .active_workflows = [.active_workflows[] | select(.id != $id)]
' .claude/workflow-state/index.json > .claude/workflow-state/index.json.tmp \
  && mv .claude/workflow-state/index.json.tmp .claude/workflow-state/index.json
