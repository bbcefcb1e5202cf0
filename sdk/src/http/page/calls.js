// Model calls and tool calls: their attempts and their ends. Everything in this file is pure.

/** Returns the members that model calls and tool calls share. */
export function newCall() {
  return { state: "running", attempt: 1, retries: [], failure: undefined };
}

/** Returns a tool call that has not begun to send output. */
export function newTool(name) {
  return {
    ...newCall(), type: "tool", callId: undefined, name, arguments: "", streams: [],
    progress: undefined, emitted: [], questions: [],
  };
}

/** Records the end of a call, and the failure of the attempt before. */
export function withOutcome(call, event, state, members) {
  const last = event.attempts ?? 0;
  let { retries } = call;
  if (event.earlier_failure) {
    retries = withRetry(retries, { attempt: last - 1, failure: event.earlier_failure });
  }
  retries = retries.filter((retry) => retry.attempt < last).map(({ nextAt, ...rest }) => rest);
  return { ...call, ...members, state, retries, failure: event.failure ?? call.failure };
}

/** Records the begin or the failure of an attempt. */
export function withAttempt(call, event) {
  if (call.state !== "running" || event.attempt < call.attempt) return call;
  const retries = event.failure
    ? withRetry(call.retries, {
      attempt: event.attempt, failure: event.failure, nextAt: event.next_at,
    })
    : call.retries.map(({ nextAt, ...rest }) => rest);
  return { ...call, attempt: event.attempt, retries };
}

function withRetry(retries, retry) {
  const others = retries.filter((other) => other.attempt !== retry.attempt);
  return [...others, retry].sort((a, b) => a.attempt - b.attempt);
}

/** Returns whether an attempt has failed or is replaced by a later one. */
export function isLate(call, attempt) {
  return attempt < call.attempt || call.retries.some((retry) => retry.attempt >= attempt);
}
