// A second process that answers requests for the same runs.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

/** Starts the API alone; returns its address and a function that kills it. */
export async function replica(...flags) {
  const { SERVE, TEMPORAL, NAMESPACE } = process.env;
  const args = ["--api-only", "--address", TEMPORAL, "--namespace", NAMESPACE, ...flags];
  const child = spawn(SERVE, args, { stdio: ["ignore", "pipe", "inherit"] });
  for await (const line of createInterface({ input: child.stdout })) {
    if (line.startsWith("READY ")) return { url: line.slice("READY ".length), kill: () => kill(child) };
  }
  throw new Error("the replica has ended before it was ready");
}

function kill(child) {
  const ended = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGKILL");
  return ended;
}
