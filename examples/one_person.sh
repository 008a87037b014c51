#!/bin/sh
# One person, one workflow, from its start to its end. Run it in an empty folder: sh one_person.sh
set -eu

mkdir -p docs
echo "Small functions. No frameworks." >docs/style.md

echo "== You, or Claude after /holdfast, start the workflow"
holdfast start "Todo app" --phase Design --phase Build --phase Test \
    --read docs/style.md --remind "Run the tests after each change"

echo "== The design is done: its note is for the next phase"
holdfast done "Design" --note "Todos are kept in todos.json"

echo "== Something to remember turns up in the middle of a phase"
holdfast update --remind "Never write outside of data/" --set ticket=42

echo "== What Claude is told after a compaction"
holdfast claim

echo "== The rest of the work"
holdfast done "Build"
holdfast done "Test" --note "test_todos.py passes"

echo "== What happened"
holdfast log
