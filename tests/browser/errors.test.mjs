// The page when the service refuses, is slow, or is lost.
import assert from "node:assert/strict";
import { test } from "node:test";

import {
  answer, api, checkAccessibility, say, screenshot, startChat, status, withPage,
} from "./browser.mjs";
import { replica } from "./replica.mjs";

const SERVICE = process.env.SERVICE_URL;

test("a run that does not exist is said to be gone", () =>
  withPage(`${SERVICE}/#/runs/nobody`, { allows: /404/ }, async (page) => {
    await page.getByRole("alert").getByText(/There is no run "nobody" of this service/).waitFor();
    await status(page, "gone");
    await checkAccessibility(page);
    await page.getByRole("link", { name: "All runs" }).click();
    await page.getByRole("heading", { name: "Runs", exact: true }).waitFor();
  }));

test("a question that somebody else has answered disappears, and the page says so", () =>
  withPage(SERVICE, { allows: /40[49]|ERR_FAILED/ }, async (page, context) => {
    const id = await startChat(page, "clerk");
    await say(page, "I want a refund.");
    await page.getByTestId("question").waitFor();
    const questionId = await page.getByTestId("question").getAttribute("data-question-id");
    // The page does not hear of it.
    await context.route(/\/runs\/[^/]+$/, (route) => route.abort());
    const decision = { question_id: questionId, approved: false };
    await api(SERVICE, `runs/${id}/decisions`, decision);
    await page.getByTestId("approve").click();
    await page.getByRole("alert").getByText(/issue_refund was answered before/).waitFor();
    assert.equal(await page.getByTestId("question").count(), 0);
  }));

test("a service that is restarted is read again from the latest event", async () => {
  const first = await replica();
  const port = new URL(first.url).port;
  await withPage(first.url, { allows: /ERR_|Failed to fetch/ }, async (page) => {
    await startChat(page, "desk");
    await say(page, "What is the weather?");
    await answer(page, "12 degrees");
    const requests = [];
    page.on("request", (request) => requests.push(request.url()));
    await first.kill();
    await page.getByRole("status").getByText("Connecting again…").waitFor();
    await screenshot(page, "connecting");
    await page.getByTestId("chat-input").fill("Where is my parcel?");
    await page.getByTestId("send").click();
    await page.getByRole("alert").getByText("The service cannot be reached. Try again.").waitFor();
    const second = await replica("--port", port);
    try {
      await page.getByRole("status").getByText("Connecting again…").waitFor({ state: "detached" });
      assert.ok(requests.some((url) => url.includes("/events?from=")), requests.join("\n"));
      // The message that was not sent is there still.
      await page.getByTestId("send").click();
      await answer(page, "It arrives tomorrow.");
      assert.equal(await page.locator('[data-role=user]').count(), 2);
    } finally {
      await second.kill();
    }
  });
});

test("without a worker a run is queued, and a message may be sent again", async () => {
  const lonely = await replica("--task-queue", "nobody-polls");
  try {
    await withPage(lonely.url, { allows: /504/ }, async (page) => {
      await startChat(page, "desk");
      await status(page, "queued");
      await say(page, "Is anybody there?");
      await page.getByRole("alert").getByText(/No worker has answered in time. Try again/).waitFor();
      assert.equal(await page.getByTestId("chat-input").inputValue(), "Is anybody there?");
      await checkAccessibility(page);
      await screenshot(page, "no-worker");
    });
  } finally {
    await lonely.kill();
  }
});

test("the page allows no script but its own, and parses no text as HTML", () =>
  withPage(SERVICE, { allows: /TrustedHTML/ }, async (page) => {
    const policy = (await fetch(SERVICE)).headers.get("content-security-policy");
    assert.match(policy, /default-src 'none'; script-src 'self';/);
    assert.doesNotMatch(policy, /unsafe/);
    const refused = await page.evaluate(() => {
      try {
        document.body.innerHTML = "<b>text</b>";
        return false;
      } catch (error) {
        return error instanceof TypeError;
      }
    });
    assert.ok(refused);
  }));
