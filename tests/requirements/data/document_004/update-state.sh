# Transition to next phase
jq --arg phase "green" --arg time "$(date -Iseconds)" '
  .state_machine.current_phase = $phase |
  .workflow.updated_at = $time |
  .history += [{"at": $time, "event": "phase_started", "phase": $phase}]
' "$STATE_FILE" > "$STATE_FILE.tmp" && mv "$STATE_FILE.tmp" "$STATE_FILE"
