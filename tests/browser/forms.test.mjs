// The forms that the page makes of schemas, which come from tools and servers.
import assert from "node:assert/strict";
import { test } from "node:test";

import { checkAccessibility, screenshot, withPage } from "./browser.mjs";

const SCHEMA = {
  type: "object",
  properties: {
    city: { type: "string", title: "City", description: "Where it is", minLength: 2 },
    nights: { type: "integer", minimum: 1, default: 2 },
    room: { type: "string", enum: ["a", "b"], enumNames: ["Attic", "Basement"] },
    view: { oneOf: [{ const: "sea", title: "Sea" }, { const: "yard", title: "Yard" }] },
    breakfast: { type: "boolean", default: true },
    // A name of a member of forms, and schemas that are none.
    querySelectorAll: { type: "string", title: "<img src=x onerror=alert(1)> \u202eeltit" },
    nothing: null,
    odd: { enum: "abc", oneOf: 1, required: "yes", description: { a: 1 } },
  },
  required: ["city", "room"],
};

test("a schema becomes a form with labels, and what is filled in becomes its values", () =>
  withPage(process.env.SERVICE_URL, {}, async (page) => {
    await page.getByRole("heading", { name: "Runs", exact: true }).waitFor();
    await page.evaluate(async (schema) => {
      const { schemaFields } = await import(new URL("schema.js", location.href).href);
      const form = document.createElement("form");
      globalThis.fields = schemaFields(schema);
      form.append(...globalThis.fields.map(({ node }) => node));
      document.querySelector("main").append(form);
      globalThis.countOfButtons = form.querySelectorAll("button").length;
    }, SCHEMA);
    assert.equal(await page.evaluate(() => globalThis.countOfButtons), 0);
    await page.getByLabel("City").fill("Oslo");
    await page.getByLabel("nights (optional)").fill("3");
    await page.getByLabel("room").selectOption("Basement");
    await page.getByLabel("view (optional)").selectOption("Sea");
    await page.getByLabel("breakfast").uncheck();
    await page.getByLabel("<img src=x onerror=alert(1)> \\u202eeltit (optional)").fill("t");
    await checkAccessibility(page);
    await screenshot(page, "form", { fullPage: true });
    const values = await page.evaluate(() =>
      Object.fromEntries(globalThis.fields.map(({ name, read }) => [name, read()])));
    assert.deepEqual(values, {
      city: "Oslo", nights: 3, room: "b", view: "sea", breakfast: false, querySelectorAll: "t",
      nothing: undefined, odd: undefined,
    });
  }));
