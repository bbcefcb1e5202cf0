// A service whose answers a test writes: it serves the files of the page, and these.
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

const PAGE = process.env.PAGE ?? new URL("page", import.meta.url).pathname;
const TYPES = {
  ".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml",
};

/**
 * Starts a service. `world` has `runs` (rows), `questions`, `agents`, and by the id of a run
 * `details`, `events`, `usage` and `pictures`. `delay` in milliseconds is that of each answer. A
 * member of `world` may be changed while it runs. Returns `url`, `requests` and `close()`.
 */
export async function mockService(world) {
  const requests = [];
  const answer = async (request, response) => {
    const url = new URL(request.url, "http://mock");
    requests.push(`${request.method} ${url.pathname}${url.search}`);
    const file = url.pathname === "/" ? "index.html" : url.pathname.slice(1);
    if (/^[a-z_]+\.(html|css|js|svg)$/.test(file)) {
      response.setHeader("content-type", TYPES[extname(file)]);
      return response.end(await readFile(join(PAGE, file)));
    }
    if (world.delay) await pause(world.delay);
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = chunks.length > 0 ? JSON.parse(Buffer.concat(chunks)) : undefined;
    if (url.pathname.endsWith("/usage") && world.usageDelay) await slowly(world);
    const { status = 200, type = "application/json", ...given } = answerTo(world, request.method, url, body);
    if (given.stream) return stream(response, given.stream);
    response.statusCode = status;
    response.setHeader("content-type", type);
    response.end(given.text ?? JSON.stringify(given.json));
  };
  // A page that leaves aborts its requests.
  const server = createServer((request, response) => answer(request, response).catch(() => response.destroy()));
  await new Promise((listening) => server.listen(world.port ?? 0, "127.0.0.1", listening));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    requests,
    close: () => {
      server.closeAllConnections();
      return new Promise((closed) => server.close(closed));
    },
  };
}

/** Counts the requests for usage that are answered at the same time. */
async function slowly(world) {
  world.usages = (world.usages ?? 0) + 1;
  world.mostUsages = Math.max(world.mostUsages ?? 0, world.usages);
  await pause(world.usageDelay);
  world.usages -= 1;
}

function answerTo(world, method, { pathname, searchParams }, body) {
  const [, kind, id, part] = pathname.split("/").map(decodeURIComponent);
  if (method === "POST") {
    world.posted ??= [];
    world.posted.push({ path: pathname, body });
    if (part === "decisions") {
      world.questions = world.questions.filter((question) =>
        question.run_id !== id || question.question_id !== body.question_id);
    }
    return { json: part ? { accepted: true } : { id: "started" } };
  }
  if (kind === "agents" && id) return { type: "image/svg+xml", text: world.pictures.agents };
  if (kind === "agents") return { json: world.agents };
  if (kind === "questions") {
    const from = Number(searchParams.get("after") ?? 0);
    const end = from + (world.questionsPerPage ?? 1_000);
    const next = end < world.questions.length ? { next: String(end) } : {};
    return { json: { questions: world.questions.slice(from, end), ...next, ...world.questionsState } };
  }
  if (kind === "runs" && !id) return { json: page(world, searchParams) };
  const run = world.details?.[id] ?? world.runs.find((row) => row.id === id);
  if (kind !== "runs" || !run) {
    return { status: 404, json: { error: { code: "not_found", message: `there is no run "${id}"` } } };
  }
  if (part === "events") return { stream: { events: world.events?.[id] ?? [], isOpen: !run.ended_at } };
  if (part === "usage") return { json: world.usage?.[id] ?? { input_tokens: 0, output_tokens: 0 } };
  if (part === "timeline.svg") return { type: "image/svg+xml", text: world.pictures.timeline };
  return { json: run };
}

/** The filters are those of the service, and `after` is a number. */
function page({ runs, ignoresFilters }, query) {
  const part = (query.get("title") ?? "").toLowerCase();
  const found = runs.filter((run) => ignoresFilters || (!query.get("open") || !run.ended_at)
    && (!query.get("status") || run.status === query.get("status"))
    && (!query.get("agent") || run.agent === query.get("agent"))
    && (run.title ?? "").toLowerCase().includes(part));
  const from = Number(query.get("after") ?? 0);
  const end = from + Number(query.get("limit") ?? 50);
  return { runs: found.slice(from, end), ...(end < found.length && { next: String(end) }) };
}

function stream(response, { events, isOpen }) {
  response.setHeader("content-type", "text/event-stream");
  response.flushHeaders();
  for (const event of events) response.write(`id: ${event.cursor}\ndata: ${JSON.stringify(event)}\n\n`);
  if (!isOpen) response.end("event: end\ndata: {}\n\n");
}
