// The screens of the page with a mocked service: 200 runs, 50 questions, 60 turns, 12 agents, chats
// and failures, each wide, on a phone and in the dark.
import assert from "node:assert/strict";
import { test } from "node:test";

import { checkAccessibility, screenshot, withPage } from "./browser.mjs";
import { mockService } from "./mock.mjs";
import { questions, runs, wholeWorld } from "./worlds.mjs";

const PHONE = { viewport: { width: 375, height: 800 }, hasTouch: true, isMobile: true };
const SCREENS = [["wide", {}], ["phone", PHONE], ["dark", { colorScheme: "dark" }]];

/** Opens the page of a mocked service at a place; `run(page, service, world)` tests it. */
async function withWorld(world, place, options, run) {
  const service = await mockService(world);
  try {
    await withPage(`${service.url}/${place}`, options, (page) => run(page, service, world));
  } finally {
    await service.close();
  }
}

const rows = (page) => page.getByTestId("run-row");
const textOf = (page) => page.locator("main").innerText();
const boxOf = async (locator) => (await locator.boundingBox()) ?? assert.fail("it is not shown");

/** Counts how often a text is shown. */
const countOf = async (page, text) => (await textOf(page)).split(text).length - 1;

for (const [name, options] of SCREENS) {
  const screen = (title, place, ready) =>
    test(`${name}: ${title}`, () => withWorld(wholeWorld(), place, options, async (page) => {
      await ready(page);
      await checkAccessibility(page);
      await screenshot(page, `${title.replaceAll(" ", "-")}-${name}`);
    }));
  screen("200 runs and 50 questions", "", async (page) => {
    await page.locator(".in-tokens").getByText(/^\d/).first().waitFor();
    await page.locator(".count").getByText("50").waitFor();
  });
  screen("a run of 60 turns", "#/runs/long", (page) =>
    page.getByText("buyer · answer").waitFor());
  screen("12 agents", "#/runs/twelve", (page) => page.locator(".graph svg").waitFor({ state: "attached" }));
  screen("a chat", "#/runs/chat", (page) => page.locator("[data-status=idle]").waitFor());
  screen("a failed run", "#/runs/refused", (page) => page.getByTestId("callout").waitFor());
  screen("a stuck run", "#/runs/stuck", (page) => page.getByTestId("callout").waitFor());
  screen("a new run", "#/new", (page) => page.getByTestId("toolsets").waitFor());
}

test("runs have titles, states, durations, tokens and costs, and no ids", () =>
  withWorld(wholeWorld(), "", {}, async (page, service) => {
    await rows(page).nth(99).waitFor();
    const cells = async (at) => (await rows(page).nth(at).locator("th, td").allInnerTexts()).map((text) => text.trim());
    await page.locator("[data-run-id=run-0] .in-cost").getByText("$").waitFor();
    const [state, title, agent, , duration, tokens, cost] = await cells(0);
    assert.deepEqual([state, title, agent, tokens, cost],
      ["waiting", "Refund for order A-17: the kettle arrived broken", "triage", "1k", "$0.0013"]);
    assert.match(duration, /^\d+(\.\d)? s$/);
    assert.match((await cells(4)).join(), /^idle,Translate the manual into Norwegian\s*chat,/);
    assert.match((await cells(7)).join(), /^stuck,.*no longer has/s);
    assert.doesNotMatch(await textOf(page), /run-\d|x-\d/);
    // Only rows in sight are added up.
    const asked = () => service.requests.filter((request) => request.endsWith("/usage"));
    assert.ok(asked().length < 60, `${asked().length} runs were read`);
    await rows(page).nth(99).scrollIntoViewIfNeeded();
    await page.locator("[data-run-id=run-99] .in-cost").getByText("$").waitFor();
    const ended = asked().filter((request) => request.includes("/run-99/"));
    assert.equal(ended.length, 1);
    await page.getByRole("button", { name: "Older runs" }).click();
    await page.locator("[data-run-id=run-199]").waitFor();
    assert.equal(await rows(page).count(), 100);
    await page.getByRole("button", { name: "Newest runs" }).click();
    await page.locator("[data-run-id=run-99] .in-cost").getByText("$").waitFor();
    assert.equal(asked().filter((request) => request.includes("/run-99/")).length, 1);
  }));

test("at most four runs are added up at once", () => {
  const world = { ...wholeWorld(), usageDelay: 30 };
  return withWorld(world, "", {}, async (page) => {
    await page.locator("[data-run-id=run-8] .in-cost").getByText("$").waitFor();
    assert.equal(world.mostUsages, 4);
  });
});

for (const knowsFilters of [true, false]) {
  const kind = knowsFilters ? "with" : "without";
  test(`filters are in the address, at a service ${kind} filters`, () =>
    withWorld({ ...wholeWorld(), ignoresFilters: !knowsFilters }, "", {}, async (page, service) => {
      const states = async () => new Set(await rows(page).locator("[data-status]").allInnerTexts());
      await rows(page).first().waitFor();
      await page.getByTestId("filter-state").selectOption("Failed");
      await page.waitForFunction(() =>
        [...document.querySelectorAll("tr [data-status]")].every((node) => node.textContent === "failed"));
      assert.deepEqual(await states(), new Set(["failed"]));
      assert.match(page.url(), /#\/runs\?status=failed$/);
      await page.getByTestId("filter-agent").selectOption("clerk");
      await page.getByTestId("filter-title").fill("kitchen of");
      await page.waitForURL(/agent=clerk&title=kitchen\+of$/);
      // The request follows the address.
      while (!service.requests.some((request) => /status=failed&agent=clerk&title=kitchen/.test(request))) {
        await page.waitForTimeout(20);
      }
      await page.reload();
      await rows(page).first().waitFor();
      assert.deepEqual(new Set(await rows(page).locator(".in-title a").allInnerTexts()), new Set(["Kitchen of Ada"]));
      assert.equal(await page.getByTestId("filter-title").inputValue(), "kitchen of");
      await page.getByTestId("filter-title").fill("nothing like it");
      await page.getByText("No run on this page matches the filters.").waitFor();
      await page.getByRole("link", { name: "Show all runs" }).click();
      await rows(page).nth(60).waitFor();
      await page.getByTestId("filter-state").selectOption("Idle chats");
      await page.waitForFunction(() =>
        [...document.querySelectorAll("tr [data-status]")].every((node) => node.textContent === "idle"));
    }));
}

test("questions are lines beside the table, of which one is open", () =>
  withWorld(wholeWorld(), "", { viewport: { width: 1440, height: 900 } }, async (page, service, world) => {
    const lines = page.getByTestId("question");
    await lines.nth(49).waitFor();
    const table = await boxOf(page.locator("table"));
    const inbox = await boxOf(page.getByTestId("inbox"));
    assert.ok(inbox.x >= table.x + table.width && inbox.y < table.y, JSON.stringify([table, inbox]));
    assert.ok(table.y < 300, `the table begins at ${table.y}`);
    for (const line of await lines.all()) assert.ok((await boxOf(line)).height < 44);
    assert.equal(await page.getByTestId("approve").count(), 0);
    await lines.nth(0).locator("summary").click();
    await lines.nth(0).getByTestId("approve").waitFor();
    assert.match(await lines.nth(0).innerText(), /triage wants to call issue_refund\s+in Refund for order A-17/);
    await lines.nth(1).locator("summary").focus();
    await page.keyboard.press("Enter");
    await lines.nth(1).getByTestId("approve").waitFor();
    assert.equal(await page.locator("[data-testid=question][open]").count(), 1);
    const next = await lines.nth(2).getAttribute("data-question-id");
    await lines.nth(1).getByTestId("approve").focus();
    await page.keyboard.press("Enter");
    await page.locator(".count").getByText("49").waitFor();
    assert.deepEqual(world.posted.map(({ body }) => body), [{ question_id: "call_1", approved: true }]);
    const focused = () => document.activeElement.closest("details").dataset.questionId;
    assert.equal(await page.evaluate(focused), next);
    await checkAccessibility(page);
  }));

test("nobody decides about a part of a call", () => {
  const world = wholeWorld();
  const [asked] = world.questions;
  world.questions = [{ ...asked, arguments: '{"order":"A-', is_cut: true }, { ...asked, question_id: "gone", is_cut: true }];
  world.details["run-0"] = { ...world.runs[0], questions: [asked] };
  return withWorld(world, "", {}, async (page) => {
    const lines = page.getByTestId("question");
    await lines.first().locator("summary").click();
    await page.getByTestId("approve").waitFor();
    assert.deepEqual(JSON.parse(await lines.first().locator("pre").textContent()), JSON.parse(asked.arguments));
    await lines.nth(1).locator("summary").click();
    await page.getByRole("alert").getByText(/issue_refund was answered before/).waitFor();
  });
});

test("on a phone fifty questions are one line above the table", () =>
  withWorld(wholeWorld(), "", PHONE, async (page) => {
    await rows(page).first().waitFor();
    await page.locator(".count").getByText("50").waitFor();
    assert.ok((await boxOf(rows(page).first())).y < 450);
    await page.getByTestId("inbox").locator("summary").first().click();
    await page.getByTestId("question").first().locator("summary").click();
    await page.getByTestId("approve").waitFor();
    await checkAccessibility(page);
  }));

test("a list of questions that is not complete says why", () =>
  withWorld({ ...wholeWorld(), questions: [], questionsState: { complete: false, reason: "2 histories cannot be read." } }, "", {}, async (page) => {
    await page.getByText("There may be more questions: 2 histories cannot be read.").waitFor();
    assert.equal(await page.getByText("No question waits").count(), 0);
  }));

test("questions on several pages are read together", () => {
  const world = wholeWorld();
  const questionsState = { complete: false, reason: "1 history cannot be read." };
  return withWorld({ ...world, questionsPerPage: 20, questionsState }, "", {}, async (page) => {
    await page.locator(".count").getByText("50").waitFor();
    await page.getByText("There may be more questions: 1 history cannot be read.").waitFor();
  });
});

test("the first screen says what this is", () =>
  withWorld({ runs: [], questions: [], agents: { agents: [{ name: "desk" }] } }, "", {}, async (page) => {
    await page.getByRole("heading", { name: "No agent has run yet" }).waitFor();
    assert.match(await textOf(page), /What the agents of this service do\..*A run is one task for an agent/s);
    await checkAccessibility(page);
    await screenshot(page, "first-screen");
    await page.getByRole("link", { name: "Start a run or a chat", exact: true }).click();
    await page.getByRole("heading", { name: "New run or chat" }).waitFor();
  }));

test("a slow service has a loading state", () =>
  withWorld({ ...wholeWorld(), delay: 1_500 }, "", {}, async (page) => {
    await page.getByRole("status").getByText("Loading the runs…").waitFor();
    assert.equal(await page.getByText("No agent has run yet").count(), 0);
    await screenshot(page, "loading");
    await rows(page).first().waitFor();
    assert.equal(await page.getByText("Loading the runs…").isVisible(), false);
    await page.evaluate(() => { location.hash = "#/runs/long"; });
    await page.getByRole("status").getByText("Loading the events…").waitFor();
    await page.getByText("buyer · answer").waitFor();
    assert.equal(await page.getByText("Loading the events…").isVisible(), false);
  }));

test("a run of sixty turns shows each thing once, in its place", () =>
  withWorld(wholeWorld(), "#/runs/long", {}, async (page) => {
    await page.getByText("buyer · answer").waitFor();
    // It is read from its beginning.
    assert.equal(await page.evaluate(() => window.scrollY), 0);
    const text = await textOf(page);
    assert.doesNotMatch(text, /transfer_to|tool-0|x-long|"assistant"/);
    assert.equal(text.match(/hands off to buyer/g).length, 3, "two in the list, and one beside it");
    assert.match(text, /Expert agent expert, turn 1/);
    const answer = page.locator(".is-answer");
    assert.deepEqual(await answer.locator(".value").first().locator("> dt").allInnerTexts(),
      ["supplier", "pieces", "price", "reasons", "ordered"]);
    assert.equal(await countOf(page, "cheapest with delivery"), 1);
    // A call that has failed stays so, with its reason and with what the model was told.
    await page.getByTestId("to-failed").getByText("1 call has failed").click();
    const failed = page.locator("[data-testid=tool-call][data-state=failed]");
    assert.equal(await failed.evaluate((node) => node === document.activeElement), true);
    const shown = await failed.innerText();
    assert.match(shown, /find_policy · failed.*table policies is locked.*told.*An error occurred/s);
    // Who decided stands between what the model wrote and what came of it.
    const call = await page.getByTestId("tool-call").filter({ hasText: "order_parts" }).innerText();
    assert.match(call, /wrote: .*160.*Approved by ada with other arguments after 3 min.*were used: .*40.*Output: ordered 40/s);
    assert.doesNotMatch(text, /waits for an answer/);
  }));

test("pictures and graphs are as wide as their place", () =>
  withWorld(wholeWorld(), "#/runs/twelve", {}, async (page) => {
    const graph = await boxOf(page.locator(".graph svg"));
    const side = await boxOf(page.locator("aside"));
    assert.ok(graph.x >= side.x && graph.x + graph.width <= side.x + side.width + 1);
    assert.equal(await page.locator(".graph g.agent").count(), 12);
    assert.ok(graph.height < 520, `the graph is ${graph.height} high`);
    for (const [name, testid] of [["Timeline", "timeline-picture"], ["Agents", "agents-picture"]]) {
      const box = page.locator("details.picture").filter({ has: page.locator("summary", { hasText: name }) });
      await box.locator("summary").click();
      const image = box.getByTestId(testid);
      await box.getByRole("button", { name: "Full size" }).waitFor();
      const frame = await boxOf(box.locator(".picture-frame"));
      assert.ok((await boxOf(image)).width <= frame.width);
      await box.getByRole("button", { name: "Full size" }).click();
      assert.ok((await boxOf(image)).width > frame.width);
      await box.getByRole("button", { name: "Fit to the page" }).click();
    }
    await checkAccessibility(page);
  }));

test("a message that a guardrail has stopped stays in its place, and an idle chat is not running", () =>
  withWorld(wholeWorld(), "#/runs/chat", {}, async (page) => {
    await page.locator("[data-status=idle]").waitFor();
    const entries = await page.locator(".timeline > li").allInnerTexts();
    const order = ["My card is", "Guardrail no_cards has stopped the run", "My policy is", "Thank you."];
    const places = order.map((text) => entries.findIndex((entry) => entry.includes(text)));
    assert.deepEqual(places, [...places].sort((a, b) => a - b));
    assert.ok(places[0] >= 0);
    assert.equal(await page.locator(".waiting li").count(), 0);
  }));

test("a failed run has its input, and its reason once", async () => {
  for (const [id, reason, input] of [
    ["guarded", "guardrail no_cards has tripped", "My card is 4000 1234 5678 9010"],
    ["refused", "The requested model gpt-9 does not exist.", "Hello"],
  ]) {
    await withWorld(wholeWorld(), `#/runs/${id}`, {}, async (page) => {
      await page.getByTestId("callout").getByText(reason).waitFor();
      await page.locator("[data-role=user] .text").getByText(input).waitFor();
      assert.equal(await countOf(page, reason), 1, await textOf(page));
    });
  }
});

test("a stuck run has its problem and the remedy", () =>
  withWorld(wholeWorld(), "#/runs/stuck", {}, async (page) => {
    await page.locator("[data-status=stuck]").waitFor();
    assert.match(await page.getByTestId("callout").innerText(), /stuck.*no longer has.*Deploy the version/s);
  }));

test("toolsets are selected where the service permits them", async () => {
  await withWorld(wholeWorld(), "#/new", { allows: /404/ }, async (page, _, world) => {
    await page.getByTestId("toolsets").waitFor();
    await page.getByLabel("maps").check();
    await page.getByTestId("other-toolsets").fill("dev-laptop, dev-desk");
    await page.getByTestId("run-input").fill("Hello");
    await page.getByTestId("start-run").click();
    await page.waitForURL(/#\/runs\/started/);
    assert.deepEqual(world.posted[0].body,
      { agent: "triage", input: "Hello", toolsets: ["maps", "dev-laptop", "dev-desk"] });
  });
  const world = wholeWorld();
  delete world.agents.toolsets;
  await withWorld(world, "#/new", {}, async (page) => {
    await page.getByRole("option", { name: "clerk" }).waitFor({ state: "attached" });
    assert.equal(await page.getByTestId("toolsets").isVisible(), false);
  });
});

test("a row whose service has no title says what the run is", () => {
  const [first] = runs(Date.now(), 1);
  const world = { ...wholeWorld(), runs: [{ ...first, title: undefined }], questions: questions([first], 1) };
  return withWorld(world, "", {}, async (page) => {
    await rows(page).getByRole("link", { name: "Run with triage" }).waitFor();
  });
});
