// Durations, numbers, costs and states, as people read them. Everything in this file is pure.

const BILLION = 1e9;
const UNITS = [[86_400, "d"], [3600, "h"], [60, "min"], [1, "s"]];

const TENTHS = { minimumFractionDigits: 1, maximumFractionDigits: 1 };

/** Returns a duration with its largest units, two by default; an empty text if it is not known. */
export function durationText(ms, parts = 2) {
  if (!Number.isFinite(ms)) return "";
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 9_950) return `${(ms / 1000).toLocaleString(undefined, TENTHS)} s`;
  const seconds = Math.max(0, Math.round(ms / 1000));
  const at = UNITS.findIndex(([size]) => seconds >= size);
  const [[size, unit], [smaller, part] = []] = UNITS.slice(at, at + 2);
  const rest = smaller && parts > 1 ? Math.floor((seconds % size) / smaller) : 0;
  return `${Math.floor(seconds / size)} ${unit}${rest > 0 ? ` ${rest} ${part}` : ""}`;
}

/** Returns the time that a run has taken, or takes up to now. */
export function durationOf({ started_at: started, ended_at: ended }, now) {
  return (ended ? Date.parse(ended) : now) - Date.parse(started ?? "");
}

/** Returns a number in a few characters, for example `12.3K`. */
export function shortNumber(number) {
  return number.toLocaleString(undefined, { notation: "compact", maximumFractionDigits: 1 });
}

/** Returns the sum of two costs: amounts by currency, in billionths of its unit. */
export function addedCosts(one, other) {
  const sum = { ...one };
  for (const [currency, amount] of Object.entries(other ?? {})) {
    if (Number.isFinite(amount)) sum[currency] = (sum[currency] ?? 0) + amount;
  }
  return sum;
}

/** Returns a cost as text, for example `$0.0013`; an empty text if none is known. */
export function costText(cost) {
  const amounts = Object.entries(cost ?? {}).filter(([, amount]) => Number.isFinite(amount));
  return amounts.map(([currency, amount]) => amountText(currency, amount / BILLION)).join(" + ");
}

function amountText(currency, amount) {
  const digits = amount === 0 || amount >= 0.01
    ? { minimumFractionDigits: 2, maximumFractionDigits: 2 } : { maximumSignificantDigits: 2 };
  try {
    return amount.toLocaleString(undefined, { style: "currency", currency, currencyDisplay: "narrowSymbol", ...digits });
  } catch {
    // Not a currency that the browser knows.
    return `${amount.toLocaleString(undefined, digits)} ${currency}`;
  }
}

/** The statuses of runs that have ended; a run of any other status may still change. */
const ENDED = new Set(["completed", "failed", "cancelled", "terminated", "timed_out", "gone"]);
export const hasEnded = (status) => ENDED.has(status);

/** Returns a status as people read it. */
export const wordOf = (status) => (status === "other" ? "unknown" : status.replaceAll("_", " "));

/** Returns the state of a run: its status, unless it is stuck, or a chat without work. */
export function stateOf({ status, kind, problem, is_idle: isIdle }) {
  if (problem && !hasEnded(status)) return "stuck";
  return kind === "chat" && status === "running" && isIdle ? "idle" : status;
}

/** Returns the title of a run that has one: the service names a run without one after its agent. */
export const ownTitle = ({ title, agent }) => (title === agent ? undefined : title);

/** Returns the title of a run: its own, or else what it is. */
export function titleOf({ title, kind, agent }) {
  if (title && title !== agent) return title;
  const noun = kind === "chat" ? "Chat" : "Run";
  return agent ? `${noun} with ${agent}` : noun;
}

/** Returns JSON arguments in one line for an overview: `order: A-17, amount: 40`. */
export function argumentsLine(json) {
  let value = json;
  try {
    value = typeof json === "string" ? JSON.parse(json) : json;
  } catch {
    return String(json);
  }
  if (value === null || typeof value !== "object" || Array.isArray(value)) return String(json);
  return Object.entries(value).map(([name, member]) =>
    `${name}: ${typeof member === "string" ? member : JSON.stringify(member)}`).join(", ");
}
