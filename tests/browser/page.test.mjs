// The page of `serve` in a browser, and the same cases at a second replica.
import assert from "node:assert/strict";
import { after, test } from "node:test";

import {
  answer, api, checkAccessibility, say, screenshot, startChat, status, tabTo, withPage,
} from "./browser.mjs";
import { replica } from "./replica.mjs";

const other = await replica();
after(() => other.kill());

for (const [place, url] of [["serve", process.env.SERVICE_URL], ["a replica", other.url]]) {
  const shot = (page, name, options) =>
    screenshot(page, `${place.replace("a ", "")}-${name}`, options);

  test(`${place}: the list shows runs with their status`, () => withPage(url, {}, async (page) => {
    const { id } = await api(url, "runs", { agent: "desk", input: "What is the weather?" });
    const row = page.locator(`tr[data-run-id="${id}"]`);
    await row.locator('[data-status=completed]').waitFor();
    assert.match(await row.innerText(), /What is the weather\?|Run with desk/);
    await row.locator(".in-tokens").getByText("240").waitFor();
    assert.doesNotMatch(await row.innerText(), new RegExp(id));
    await checkAccessibility(page);
    await shot(page, "runs");
    await page.getByTestId("filter-state").selectOption("Not ended");
    await row.waitFor({ state: "detached" });
    await page.getByTestId("filter-state").selectOption("All");
    await row.getByRole("link").click();
    await status(page, "completed");
    await page.locator(".is-answer").getByText(/12 degrees/).waitFor();
    assert.equal(await page.getByTestId("result").isVisible(), false);
    for (const name of ["timeline-picture", "agents-picture"]) {
      const image = page.getByTestId(name);
      await page.locator("details", { has: image }).locator("summary").click();
      await image.waitFor();
      assert.ok(await image.evaluate((node) => node.decode().then(() => node.naturalWidth > 300)));
    }
    await page.getByTestId("tool-call").getByText('"city": "Oslo"').waitFor();
    await page.getByTestId("tool-call").getByText("Oslo: 12 degrees, clear").waitFor();
    await checkAccessibility(page);
    await shot(page, "run", { fullPage: true });
  }));

  test(`${place}: tokens arrive in a chat, and a handoff is drawn`, () =>
    withPage(url, {}, async (page) => {
      await startChat(page, "desk");
      assert.equal(await page.evaluate(() => document.activeElement.dataset.testid), "chat-input");
      await page.keyboard.type("Hello, desk!");
      await page.keyboard.press("Enter");
      const partial = page.locator('[data-testid=message][data-partial=true] .text');
      const lengths = new Set();
      while (lengths.size < 4) lengths.add((await partial.innerText()).length);
      await shot(page, "tokens");
      await answer(page, "I will find out for you.");
      assert.equal(await page.locator(".waiting li").count(), 0);
      // Tokens are not said one by one, but the whole message is.
      await page.locator("#announcements").getByText(/desk: Good day/).waitFor({ state: "attached" });
      await say(page, "Where is my parcel?");
      await answer(page, "It arrives tomorrow.");
      const graph = page.locator(".graph");
      assert.deepEqual(await graph.locator("g.agent text").allTextContents(), ["desk", "parcels"]);
      await graph.getByText("desk hands off to parcels").waitFor();
      assert.equal(await graph.locator(".current text").textContent(), "parcels");
      const rows = await page.getByTestId("usage").locator("tbody th").allTextContents();
      assert.deepEqual(rows, ["desk scripted", "parcels scripted"]);
      await page.getByTestId("tool-call").getByText("parcel 4711 is on the ferry").waitFor();
      await status(page, "idle");
      assert.doesNotMatch(await page.locator("main").innerText(), /transfer_to/);
      await checkAccessibility(page);
      await shot(page, "handoff", { fullPage: true });
    }));

  test(`${place}: an approval is granted by keyboard alone`, () =>
    withPage(url, {}, async (page) => {
      const { keyboard } = page;
      await keyboard.press("Tab");
      assert.equal(await page.evaluate(() => document.activeElement.id), "skip");
      await keyboard.press("Enter");
      assert.equal(await page.evaluate(() => document.activeElement.tagName), "H1");
      await keyboard.press("Shift+Tab");
      await page.evaluate(() => document.activeElement.blur());
      await tabTo(page, 'nav a[href="#/new"]');
      await keyboard.press("Enter");
      await page.getByRole("option", { name: "clerk" }).waitFor({ state: "attached" });
      await tabTo(page, "[data-testid=agent-select]");
      await keyboard.type("clerk");
      await tabTo(page, "[data-testid=new-chat]");
      await keyboard.press("Enter");
      await page.locator("[data-testid=chat-input]:focus").waitFor();
      await keyboard.type("I want a refund.");
      await keyboard.press("Enter");
      await page.getByTestId("to-questions").waitFor();
      await status(page, "waiting");
      await page.evaluate(() => document.querySelector("h1").focus());
      await tabTo(page, "[data-testid=to-questions]");
      await keyboard.press("Enter");
      assert.equal(await page.evaluate(() => document.activeElement.textContent), "Questions");
      await checkAccessibility(page);
      await shot(page, "question");
      await tabTo(page, "[data-testid=approve]");
      await keyboard.press("Enter");
      await answer(page, "refunded 40 euros for order A-17");
      await page.getByTestId("question").waitFor({ state: "detached" });
      await page.getByTestId("question-entry").getByText("Approved").waitFor();
      // The focus is not lost with the form that had it.
      assert.notEqual(await page.evaluate(() => document.activeElement.tagName), "BODY");
      await checkAccessibility(page);
      await shot(page, "approved", { fullPage: true });
    }));

  test(`${place}: a call is rejected with a reason, from the list of all questions`, () =>
    withPage(url, {}, async (page) => {
      const id = await startChat(page, "clerk");
      await say(page, "I want a refund.");
      await status(page, "waiting");
      await page.getByRole("link", { name: "Runs", exact: true }).click();
      const question = page.locator(`[data-testid=question][data-run-id="${id}"]`);
      await question.locator("summary").first().click();
      await question.getByText('"order": "A-17"').waitFor();
      await question.getByTestId("reject-reason").fill("Not before Monday.");
      await shot(page, "questions");
      await question.getByTestId("reject").click();
      await question.waitFor({ state: "detached" });
      await page.locator(`tr[data-run-id="${id}"]`).getByRole("link").click();
      await answer(page, "Not before Monday.");
      await page.getByTestId("question-entry").getByText("Not before Monday.").waitFor();
    }));

  test(`${place}: the output of a client's tool is supplied, and shown as a text`, () =>
    withPage(url, {}, async (page) => {
      await startChat(page, "browser");
      await say(page, "What do I see?");
      const output = page.getByTestId("output");
      await output.fill('<img src=x onerror="document.title=1"> \u202Eesrever');
      await checkAccessibility(page);
      await shot(page, "output");
      await page.getByTestId("supply-output").click();
      await answer(page, '<img src=x onerror="document.title=1">');
      assert.equal(await page.locator("main img:not([data-testid$=-picture])").count(), 0);
      assert.equal(await page.title(), "What do I see? · Agents");
    }));

  test(`${place}: a reload in mid-run shows the run, once`, () => withPage(url, {}, async (page) => {
    await startChat(page, "desk");
    await say(page, "Hello again!");
    await page.locator('[data-testid=message][data-partial=true]').waitFor();
    await page.reload();
    await answer(page, "I will find out for you.");
    const texts = await page.locator('[data-testid=message] .text').allInnerTexts();
    assert.equal(texts.length, 2);
    assert.equal(texts[0], "Hello again!");
    // A chat that is opened again is read from its end.
    await say(page, "What is the weather?");
    await answer(page, "12 degrees");
  }));

  test(`${place}: a run is cancelled`, () => withPage(url, {}, async (page) => {
    await startChat(page, "desk");
    await say(page, "Hello!");
    await page.locator('[data-testid=message][data-partial=true]').waitFor();
    await page.getByTestId("cancel").click();
    await page.getByTestId("cancel-confirm").click();
    await status(page, "cancelled");
    await page.getByTestId("chat-input").waitFor({ state: "hidden" });
  }));

  test(`${place}: a model call that breaks half-way shows the reason of its retry`, () =>
    withPage(url, {}, async (page) => {
      await startChat(page, "desk");
      await say(page, `Please break ${place}`);
      await page.getByTestId("retries").getByText(/Attempt 1 failed: .+/).waitFor();
      await answer(page, "I will find out for you.");
      assert.equal(await page.locator('[data-role=assistant]').count(), 1);
      await shot(page, "retry");
    }));

  for (const [name, options] of [
    ["dark", { colorScheme: "dark" }],
    ["phone", { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true }],
    ["dark phone", {
      colorScheme: "dark", viewport: { width: 320, height: 640 }, hasTouch: true, isMobile: true,
    }],
  ]) {
    test(`${place}: ${name}`, () => withPage(url, options, async (page) => {
      const label = name.replace(" ", "-");
      await page.getByTestId("run-row").first().waitFor();
      await checkAccessibility(page);
      await shot(page, `${label}-runs`);
      await startChat(page, "desk");
      await checkAccessibility(page);
      await shot(page, `${label}-new-chat`);
      await say(page, "Where is my parcel?");
      await answer(page, "It arrives tomorrow.");
      await page.locator("details.summary").evaluate((box) => { box.open = true; });
      await checkAccessibility(page);
      await shot(page, `${label}-chat`, { fullPage: true });
      await startChat(page, "clerk");
      await say(page, "I want a refund.");
      await page.getByTestId("question").waitFor();
      await checkAccessibility(page);
      await shot(page, `${label}-question`);
      await page.getByRole("link", { name: "Runs", exact: true }).click();
      await page.locator(".count").waitFor();
      await checkAccessibility(page);
    }));
  }
}
