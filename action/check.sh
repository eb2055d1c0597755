#!/usr/bin/env bash
# Run the linter and report. Never fails by itself: the last step of the action does, once everything is reported.
set -uo pipefail

environment=${RUNNER_TEMP:?}/template-lint/environment
scripts=$environment/bin
[ -d "$scripts" ] || scripts=$environment/Scripts # Windows
python=$scripts/python
# Where the installation failed, outputs are still set, by the Python that was to run it.
[ -x "$python" ] || python=${TEMPLATE_LINT_PYTHON:-python3}
# An empty input must not hide a token that the job has set.
[ -z "${TEMPLATE_LINT_HF_TOKEN:-}" ] || export HF_TOKEN=$TEMPLATE_LINT_HF_TOKEN
unset TEMPLATE_LINT_HF_TOKEN
"$python" "$GITHUB_ACTION_PATH/action/check.py" "$scripts/template-lint" || {
  code=$?
  echo "template-lint: the action itself failed ($code)"
  echo "exit-code=2" >>"$GITHUB_OUTPUT"
}
exit 0
