// The page with agents that are hostile, unreliable and busy, of the program `page_agents`, whose
// service asks for a token.
import assert from "node:assert/strict";
import { test } from "node:test";

import {
  answer, api, checkAccessibility, say, screenshot, startChat, status, tabTo, withPage,
} from "./browser.mjs";

const { ODD_URL, ODD_TOKEN } = process.env;
const MARKUP = `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>`;

/** The console of a browser says that the first request had no token. */
const withToken = (run) => withPage(ODD_URL, { allows: /401/ }, async (page) => {
  await page.getByTestId("token").fill(ODD_TOKEN);
  await page.getByTestId("save-token").click();
  await page.getByRole("heading", { name: "Runs", exact: true }).waitFor();
  await run(page);
  // Nothing has become an element, and nothing has run.
  assert.equal(await page.locator("main :is(img:not([data-testid$=-picture]), script, b, iframe)").count(), 0);
  assert.doesNotMatch(await page.title(), /owned/);
});

async function oddAgent() {
  const { agents } = await api(ODD_URL, "agents", undefined, ODD_TOKEN);
  return agents.find(({ name }) => name.startsWith("odd")).name;
}

/** Starts a run with an input, and shows it. */
async function run(page, input) {
  const agent = await oddAgent();
  const { id } = await api(ODD_URL, "runs", { agent, input }, ODD_TOKEN);
  await page.evaluate((hash) => { location.hash = hash; }, `#/runs/${encodeURIComponent(id)}`);
}

const texts = (page) => page.locator("[data-role=assistant] .text").allTextContents();

test("the page asks for a token, refuses a wrong one kindly, and goes on with the right one", () =>
  withPage(ODD_URL, { allows: /401/ }, async (page) => {
    await page.locator("[data-testid=token]:focus").waitFor();
    await page.getByRole("heading", { name: "No access" }).waitFor();
    await checkAccessibility(page);
    await page.keyboard.type("wrong");
    await page.keyboard.press("Enter");
    await page.getByText("The service has refused the token.").first().waitFor();
    await screenshot(page, "no-access");
    await page.keyboard.type(ODD_TOKEN);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Runs", exact: true }).waitFor();
    // It is kept for this tab.
    await page.reload();
    await page.getByRole("heading", { name: "Runs", exact: true }).waitFor();
    await page.getByRole("heading", { name: "No access" }).waitFor({ state: "detached" });
  }));

test("markup of a model is a text, also while it arrives", () => withToken(async (page) => {
  await startChat(page, await oddAgent());
  await say(page, "markup");
  await answer(page, MARKUP);
  assert.deepEqual(await texts(page), [MARKUP]);
  await checkAccessibility(page);
  await screenshot(page, "markup", { fullPage: true });
}));

test("a text that runs from right to left stays in its place", () => withToken(async (page) => {
  await run(page, "right to left");
  await status(page, "completed");
  const [shown] = await texts(page);
  assert.equal(shown, "\u202eשלום, this text changes its direction <b>here</b>");
  const name = await page.getByTestId("turn").first().innerText();
  assert.ok(name.startsWith("odd <b onclick=alert(1)>one</b> \\u202eeno, turn 1"), name);
  await screenshot(page, "right-to-left", { fullPage: true });
}));

test("the beginning of a long text is shown first", () => withToken(async (page) => {
  await run(page, "long text");
  await status(page, "completed");
  const message = page.locator("[data-role=assistant]");
  assert.equal((await message.locator(".text").textContent()).length, 20_001);
  await message.getByRole("button", { name: "Show all 300,000 characters" }).click();
  assert.equal((await message.locator(".text").textContent()).length, 300_000);
  await checkAccessibility(page);
}));

test("what a person approves looks like what it is", () => withToken(async (page) => {
  await run(page, "approval");
  const question = page.getByTestId("question");
  await question.waitFor();
  const args = await question.locator("pre").textContent();
  assert.deepEqual(JSON.parse(args), { path: `/tmp/${MARKUP}\u202egpj.exe` });
  assert.ok(args.includes("\\u202egpj.exe"), args);
  await checkAccessibility(page);
  await screenshot(page, "hostile-question", { fullPage: true });
  await question.getByTestId("approve").click();
  await status(page, "completed");
  await page.getByTestId("question-entry").getByText(/Approved by tester/).waitFor();
}));

test("retries of a tool have their reasons, and its progress is shown", () =>
  withToken(async (page) => {
    await run(page, "retries");
    const call = page.getByTestId("tool-call");
    const reasons = call.getByTestId("retries").locator("li");
    await reasons.filter({ hasText: `the line is busy ${MARKUP}` }).first().waitFor();
    await call.locator("progress").waitFor();
    await call.getByText(/step \d/).first().waitFor();
    await screenshot(page, "retries", { fullPage: true });
    await status(page, "completed");
    // The history has the failure before the attempt that succeeded.
    assert.match((await reasons.allInnerTexts()).join(), /Attempt 2 failed: .*the line is busy/);
    assert.equal(await call.locator("progress").isVisible(), false);
  }));

test("handoffs to and fro are in the graph", () => withToken(async (page) => {
  await run(page, "handoffs");
  await status(page, "completed");
  // One line with an arrow at each end.
  await page.locator(".graph .edge[marker-start][marker-end]").waitFor();
  assert.equal(await page.locator(".graph g.agent").count(), 2);
  assert.equal(await page.locator(".graph figcaption li").count(), 2);
  await checkAccessibility(page);
  await screenshot(page, "to-and-fro", { fullPage: true });
}));

test("an agent that is a tool is shown within its call", () => withToken(async (page) => {
  await run(page, "nested");
  await status(page, "completed");
  await page.locator(".depth-1").getByText("I have helped.").waitFor();
  await page.getByTestId("turn").getByText("Expert agent helper, turn 1").waitFor();
  assert.doesNotMatch(await page.locator("main").innerText(), /tool-0/);
  const rows = await page.getByTestId("usage").locator("tbody th").allTextContents();
  assert.equal(rows.filter((name) => name === "helper m").length, 1, rows.join());
  // The conversation is still that of the agent that called it.
  assert.equal(await page.locator(".graph").isVisible(), false);
  await checkAccessibility(page);
  await screenshot(page, "nested", { fullPage: true });
}));

test("a long run has few elements, and all of its sums", () => withToken(async (page) => {
  await run(page, "many calls");
  await status(page, "completed");
  const entries = page.locator(".timeline > li");
  await page.getByTestId("earlier").waitFor();
  assert.equal(await entries.count(), 200);
  assert.match(await page.getByTestId("usage").locator("tfoot").innerText(), /All\s+2\s/);
  await page.getByTestId("earlier").click();
  assert.equal(await entries.count(), 400);
  assert.equal(await page.evaluate(() => document.activeElement.tagName), "LI");
  await checkAccessibility(page);
  await screenshot(page, "many-calls");
}));

test("a failure has its reason", () => withToken(async (page) => {
  await run(page, "failure");
  await status(page, "failed");
  await page.getByTestId("failure").getByText(MARKUP).waitFor();
  await page.getByTestId("turn").getByText("The model call has failed; the reason is at the top").waitFor();
  assert.equal((await page.locator("main").innerText()).split(MARKUP).length - 1, 1);
  await checkAccessibility(page);
  await screenshot(page, "failure", { fullPage: true });
}));

test("the timeline of sixty turns and the picture of twelve agents are shown", () =>
  withToken(async (page) => {
    const shown = async (testid) => {
      const picture = page.getByTestId(testid);
      await picture.waitFor();
      await page.waitForFunction((id) => {
        const { complete, naturalWidth } = document.querySelector(`[data-testid=${id}]`);
        return complete && naturalWidth > 0;
      }, testid);
      await checkAccessibility(page);
      await screenshot(page, testid, { fullPage: true });
    };
    await run(page, "many turns");
    await status(page, "completed");
    await page.getByText("Timeline", { exact: true }).click();
    await shown("timeline-picture");
    await page.getByRole("link", { name: "New" }).click();
    await page.getByTestId("agent-select").selectOption("reception");
    await page.getByText("Picture of the agent", { exact: true }).click();
    await shown("agents-picture");
  }));

test("a decision for later runs is listed and forgotten by keyboard", () => withToken(async (page) => {
  await run(page, "approval");
  await page.getByTestId("always").check();
  await page.getByTestId("approve").click();
  await status(page, "completed");
  await page.getByRole("link", { name: "Decisions" }).click();
  const kept = page.getByTestId("kept-decision");
  await kept.waitFor();
  assert.equal(await page.evaluate(() => document.activeElement.tagName), "H1");
  assert.match(await kept.innerText(), /Approve delete_file for odd <b onclick/);
  assert.match(await kept.getByRole("group").innerText(), /\/tmp\/<img .*\\u202egpj\.exe/s);
  await checkAccessibility(page);
  await screenshot(page, "decisions");
  // The next run is not asked.
  await run(page, "approval");
  await status(page, "completed");
  await page.evaluate(() => { location.hash = "#/decisions"; });
  await kept.waitFor();
  await tabTo(page, '[data-testid="forget-decision"]');
  await page.keyboard.press("Enter");
  await page.getByText("No decision of yours holds for later runs.").waitFor();
  assert.equal(await page.evaluate(() => document.activeElement.tagName), "H1");
  await page.locator("#announcements").getByText("The decision is forgotten.").waitFor({ state: "attached" });
  await run(page, "approval");
  await page.getByTestId("approve").waitFor();
}));
