# Mark task completed with commit
jq --arg idx "$TASK_INDEX" --arg sha "$COMMIT_SHA" --arg time "$(date -Iseconds)" '
  .tasks[$idx | tonumber - 1].status = "completed" |
  .tasks[$idx | tonumber - 1].commit_sha = $sha |
  .workflow.updated_at = $time |
  .history += [{"at": $time, "event": "task_completed", "task": ($idx | tonumber), "commit": $sha}]
' "$STATE_FILE" > "$STATE_FILE.tmp" && mv "$STATE_FILE.tmp" "$STATE_FILE"
