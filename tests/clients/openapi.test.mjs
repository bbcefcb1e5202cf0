// The OpenAPI description, judged by a validator that others wrote, with the official schemas of OpenAPI 3.1.
import assert from "node:assert/strict";
import { test } from "node:test";

import { Validator } from "@seriousme/openapi-schema-validator";

test("the description is valid OpenAPI 3.1", async () => {
  const response = await fetch(`${process.env.SERVICE_URL}/openapi.json`);
  assert.equal(response.status, 200);
  const description = await response.json();
  const validator = new Validator();
  const { valid, errors } = await validator.validate(description);
  assert.ok(valid, JSON.stringify(errors, null, 2));
  assert.equal(validator.version, "3.1");
});
