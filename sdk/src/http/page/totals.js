// The tokens and the cost of runs, which the service adds up from their events: only for the rows
// that are in sight, few at once, and remembered for runs that have ended.

import { runUsage } from "./api.js";
import { hasEnded } from "./format.js";

const AT_ONCE = 4;
const FRESH_MS = 30_000;
const MAX_KNOWN = 2_000;

/** What is known, by run, also when the page shows something else meanwhile. */
const known = new Map();

/**
 * Returns the usage of rows. `want(run, node)` shows it with `show(id, usage)` as soon as the node
 * is in sight; a run whose row has its usage is not read. `forget(node)` lets a row go.
 */
export function totals(signal, show) {
  const wanted = new Map();
  const visible = new Set();
  const queue = new Set();
  let active = 0;

  const watcher = new IntersectionObserver((changes) => {
    for (const { target, isIntersecting } of changes) {
      if (isIntersecting) visible.add(target);
      else visible.delete(target);
      if (isIntersecting) enqueue(target);
    }
  }, { rootMargin: "200px" });
  signal.addEventListener("abort", () => watcher.disconnect());

  const enqueue = (node) => {
    const run = wanted.get(node);
    const before = run && known.get(run.id);
    const isFresh = before && (before.isFinal || Date.now() - before.at < FRESH_MS);
    if (!run || run.usage || isFresh || !visible.has(node)) return;
    queue.add(node);
    work();
  };
  const work = async () => {
    const [node] = queue;
    if (!node || active >= AT_ONCE || signal.aborted) return;
    queue.delete(node);
    const { id, status } = wanted.get(node) ?? {};
    if (id === undefined || !visible.has(node)) return work();
    active += 1;
    const usage = await runUsage(id, signal).catch(() => undefined);
    active -= 1;
    if (signal.aborted) return;
    remember(id, { usage, at: Date.now(), isFinal: usage !== undefined && hasEnded(status) });
    show(id, usage);
    work();
  };
  return {
    want(run, node) {
      const isNew = !wanted.has(node);
      wanted.set(node, run);
      const usage = run.usage ?? known.get(run.id)?.usage;
      if (usage) show(run.id, usage);
      if (isNew) watcher.observe(node);
      else enqueue(node);
    },
    forget(node) {
      watcher.unobserve(node);
      wanted.delete(node);
      visible.delete(node);
      queue.delete(node);
    },
  };
}

function remember(id, value) {
  known.delete(id);
  known.set(id, value);
  if (known.size > MAX_KNOWN) known.delete(known.keys().next().value);
}
