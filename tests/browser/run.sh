#!/usr/bin/env bash
# Drives the page of the service with headless Chromium. With a mocked service: large lists, long runs, failures, each
# wide, on a phone and in the dark. With a real one: a chat with an approval, a client tool, a handoff, lost connections,
# hostile texts, by keyboard. Checks names and roles with axe; takes screenshots into the directory SCREENSHOTS
# (target/browser). Needs `chromium` on PATH and Node 20. Installs the driver into a temporary directory; starts what it
# needs on free ports, and stops it by its process id. SERVE and PAGE_AGENTS are programs that are built already.
set -euo pipefail
cd "$(dirname "$0")/../.."
chromium=$(command -v chromium) || { echo 'SKIPPED: the page is not tested, because there is no chromium'; exit 0; }
# No server of the user's environment or configuration file.
for variable in "${!TEMPORAL_@}"; do
    case $variable in TEMPORAL_CLI | TEMPORAL_AGENTS_*) ;; *) unset "$variable" ;; esac
done
unset AGENTS_TOKEN
export TEMPORAL_CONFIG_FILE=/dev/null
target=${CARGO_TARGET_DIR:-target}
serve=${SERVE:-}
if [ -z "$serve" ]; then
    cargo build --quiet -p temporal-agents-examples-service --bin serve
    serve=$target/debug/serve
fi
agents=${PAGE_AGENTS:-}
if [ -z "$agents" ]; then
    cargo build --quiet -p temporal-agents-tests --example page_agents
    agents=$target/debug/examples/page_agents
fi
screenshots=${SCREENSHOTS:-$target/browser}
mkdir -p "$screenshots"
work=$(mktemp -d)
pids=()
stop() {
    # In the reverse order, so that each process outlives what uses it.
    for ((at = ${#pids[@]} - 1; at >= 0; at--)); do
        kill "${pids[at]}" 2>/dev/null && wait "${pids[at]}" 2>/dev/null || true
    done
    rm -rf "$work"
}
trap stop EXIT
cp tests/browser/package.json tests/browser/*.mjs "$work"
mkdir "$work/page"
cp sdk/src/http/page/*.{js,css,html,svg} "$work/page"
if ! (cd "$work" && npm install --no-package-lock --no-audit --no-fund --loglevel=error); then
    echo 'SKIPPED: the page is not tested, because npm cannot get the driver of the browser (see above)'
    exit 0
fi
# Starts a program and waits until its output, in a file of this name, says that it is ready.
start() {
    local output=$work/$1.txt
    shift
    "$@" >"$output" &
    pids+=($!)
    for _ in $(seq 600); do
        if grep -q '^READY ' "$output"; then return; fi
        if ! kill -0 "${pids[-1]}" 2>/dev/null; then break; fi
        sleep 0.2
    done
    echo "$1 was not ready in time" >&2
    exit 1
}
start serve "$serve"
read -r _ address namespace < <(grep '^TEMPORAL ' "$work/serve.txt")
read -r _ url < <(grep '^READY ' "$work/serve.txt")
start agents "$agents" --address "$address" --namespace "$namespace" --token secret
read -r _ odd < <(grep '^READY ' "$work/agents.txt")
export SERVICE_URL=$url ODD_URL=$odd ODD_TOKEN=secret TEMPORAL=$address NAMESPACE=$namespace CHROMIUM=$chromium
SERVE=$(realpath "$serve") SCREENSHOTS=$(realpath "$screenshots")
export SERVE SCREENSHOTS
cd "$work"
# The words of numbers and times are those of one language.
export LC_ALL=C.UTF-8
# In the order of dependence: a broken view model breaks all others.
node --test view.test.mjs
node --test --test-concurrency=1 screens.test.mjs page.test.mjs errors.test.mjs forms.test.mjs odd.test.mjs
