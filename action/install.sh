#!/usr/bin/env bash
# Install the linter from the action's own checkout, so that the sha of the action pins it, into an environment of its
# own: the job's Python stays as it is.
set -euo pipefail

environment=${RUNNER_TEMP:?}/template-lint/environment
"${TEMPLATE_LINT_PYTHON:?}" -m venv "$environment"
scripts=$environment/bin
[ -d "$scripts" ] || scripts=$environment/Scripts # Windows
"$scripts/python" -m pip install --quiet --disable-pip-version-check "$GITHUB_ACTION_PATH"
"$scripts/template-lint" --version
