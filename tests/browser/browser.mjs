// A browser with the page: what its console says is collected, and its accessibility is checked.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after } from "node:test";

import { chromium } from "playwright-core";

const PATIENCE = 60_000;
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

let browser;
after(() => browser?.close());

/**
 * Opens the page in a browser context of its own. `allows` is a pattern of the errors that the
 * console may have; all others fail the test in `close`.
 */
export async function open(url, { allows, ...options } = {}) {
  browser ??= await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: [
      "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
      "--disable-background-networking", "--disable-component-update", "--disable-sync",
    ],
  });
  const viewport = { width: 1200, height: 900 };
  const context = await browser.newContext({ viewport, locale: "en-GB", ...options });
  context.setDefaultTimeout(PATIENCE);
  const page = await context.newPage();
  const errors = [];
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error") errors.push(`${message.text()} ${message.location().url}`);
  });
  await page.goto(url);
  const close = async () => {
    await context.close();
    assert.deepEqual(errors.filter((error) => !allows?.test(error)), []);
  };
  return { page, context, close };
}

/** Runs a test with a page, and closes it. */
export async function withPage(url, options, test) {
  const { page, context, close } = await open(url, options);
  try {
    await test(page, context);
  } catch (error) {
    // Of a page that the test expected otherwise.
    await screenshot(page, "failed").catch(() => {});
    await context.close();
    throw error;
  }
  await close();
}

/** Checks names, roles, contrast and order with axe, and that nothing is wider than the page. */
export async function checkAccessibility(page) {
  await page.evaluate(AXE);
  const found = await page.evaluate(async () => {
    const { violations } = await globalThis.axe.run(document, { resultTypes: ["violations"] });
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(" | ")}`);
  });
  assert.deepEqual(found, []);
  const [inner, outer] = await page.evaluate(() =>
    [document.documentElement.scrollWidth, window.innerWidth]);
  assert.ok(inner <= outer, `the content is ${inner} wide, the window ${outer}`);
}

export async function screenshot(page, name, options = {}) {
  const directory = process.env.SCREENSHOTS;
  if (directory) await page.screenshot({ path: join(directory, `${name}.png`), ...options });
}

/** Presses Tab until the focus is on an element of the selector. */
export async function tabTo(page, selector) {
  for (let presses = 0; presses < 80; presses += 1) {
    await page.keyboard.press("Tab");
    if (await page.evaluate((wanted) => document.activeElement?.matches(wanted), selector)) return;
  }
  assert.fail(`the focus does not reach ${selector} with Tab`);
}

/** Starts a chat with an agent through the page; returns the id of its run. */
export async function startChat(page, agent) {
  await page.getByRole("link", { name: "New" }).click();
  await page.getByTestId("agent-select").selectOption(agent);
  await page.getByTestId("new-chat").click();
  await page.getByTestId("chat-input").waitFor();
  return decodeURIComponent(new URL(page.url()).hash.slice("#/runs/".length));
}

export async function say(page, text) {
  await page.getByTestId("chat-input").fill(text);
  await page.getByTestId("send").click();
}

/** Waits for a whole message of an agent that contains a text. */
export async function answer(page, text) {
  const messages = page.locator('[data-testid=message][data-role=assistant][data-partial=false]');
  await messages.filter({ hasText: text }).first().waitFor();
}

export async function status(page, wanted) {
  await page.locator(`h1 ~ .about [data-status=${wanted}]`).waitFor();
}

/** Sends a request to the API, as another client would. */
export async function api(url, path, body, token) {
  const headers = { "content-type": "application/json" };
  if (token) headers.authorization = `Bearer ${token}`;
  const method = body === undefined ? "GET" : "POST";
  const json = body === undefined ? undefined : JSON.stringify(body);
  const response = await fetch(`${url}/${path}`, { method, headers, body: json });
  assert.ok(response.ok, `${method} ${path}: ${response.status}`);
  return response.json().catch(() => ({}));
}
