#!/usr/bin/env bash
# Plays clients that others wrote, from npm, against `serve`: HttpAgent of @ag-ui/client with its verifier, and the
# chat of the AI SDK, versions 6 and 7; and a validator of OpenAPI. Needs Node 20. Installs the clients into a temporary
# directory; starts `serve` on a free port, and stops it by its process id. SERVE and IT are programs that are built
# already: `serve`, and the integration tests, whose agents the clients also talk to.
set -euo pipefail
cd "$(dirname "$0")/../.."
repository=$PWD
# No server of the user's environment or configuration file.
for variable in "${!TEMPORAL_@}"; do
    case $variable in TEMPORAL_CLI | TEMPORAL_AGENTS_*) ;; *) unset "$variable" ;; esac
done
export TEMPORAL_CONFIG_FILE=/dev/null
serve=${SERVE:-}
if [ -z "$serve" ]; then
    cargo build --quiet -p temporal-agents-examples-service --bin serve
    serve="${CARGO_TARGET_DIR:-target}/debug/serve"
fi
work=$(mktemp -d)
pid=
stop() {
    if [ -n "$pid" ]; then kill "$pid" 2>/dev/null && wait "$pid" 2>/dev/null || true; fi
    rm -rf "$work"
}
trap stop EXIT
cp tests/clients/package.json tests/clients/*.mjs "$work"
if ! (cd "$work" && npm install --no-package-lock --no-audit --no-fund --loglevel=error); then
    echo 'SKIPPED: the clients are not tested, because npm cannot get them (see above)'
    exit 0
fi
"$serve" >"$work/serve.txt" &
pid=$!
for _ in $(seq 600); do
    if grep -q '^READY ' "$work/serve.txt"; then break; fi
    if ! kill -0 "$pid" 2>/dev/null; then echo 'serve has ended before it was ready' >&2; exit 1; fi
    sleep 0.2
done
read -r _ address namespace < <(grep '^TEMPORAL ' "$work/serve.txt")
read -r _ url < <(grep '^READY ' "$work/serve.txt")
export SERVICE_URL=$url SERVE=$(realpath "$serve") TEMPORAL=$address NAMESPACE=$namespace
cd "$work"
node --test --test-concurrency=4 agui.test.mjs ai.test.mjs openapi.test.mjs
# The same clients against agents of the tests and a second replica.
if [ -n "${IT:-}" ]; then
    CLIENTS_DIR=$work "$IT" --exact real_clients::clients_of_others_talk_to_other_agents_through_two_replicas
else
    (cd "$repository" && CLIENTS_DIR=$work cargo test --quiet --workspace --test it -- \
        --exact real_clients::clients_of_others_talk_to_other_agents_through_two_replicas)
fi
