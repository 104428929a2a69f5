// Everything can be read and ordered without JavaScript, by forms and links alone.
import assert from "node:assert/strict";
import { test } from "node:test";
import { idOf, planned, split, stage, visit } from "./harness.mjs";

/** Loads the page again until it shows the state. */
async function until(page, name) {
  const mark = page.locator("#head h1 .mark", { hasText: name });
  for (const end = Date.now() + 60_000; Date.now() < end;) {
    if (await mark.count()) return;
    await page.reload();
  }
  assert.fail(`${page.url()} is not ${name}`);
}

test("a migration is submitted, approved and rolled back", async () => {
  const page = await visit({ javaScriptEnabled: false });
  await page.goto(stage.url);
  await page.click("#new");
  await page.selectOption("#choose", "merge");
  await page.selectOption("#map", "shipments");
  await page.click("#example");
  assert.match(await page.inputValue("#request"), /operation: merge/);
  await page.fill("#f-into", "shipments-b");
  await page.click("#as-yaml");
  assert.match(await page.inputValue("#request"), /into: shipments-b/, "the text has what the form had");
  await page.fill("#request", split("shipments", { at: 401 }));
  await page.click("#as-form");
  assert.equal(await page.inputValue("[name='from.1']"), "401", "the form has what the text had");
  await page.click("#as-yaml");
  await page.fill("#request", split("shipments"));
  await page.click("#make");
  await planned(page);
  await page.click("#apply");
  await page.waitForURL(/\/migrations\/m[a-z0-9]+$/);
  const id = idOf(page);
  await page.locator("#live", { hasText: "as of loading" }).waitFor();
  await until(page, "waiting");
  await page.click("#do-approve");
  await page.waitForURL(new RegExp(`/migrations/${id}/approve$`));
  assert.equal(await page.locator("[data-fill]").isVisible(), false, "what needs a script is not offered");
  await page.fill("#confirm-approve", id);
  await page.click("form .buttons button");
  await until(page, "in hold");
  await page.click("#do-rollback");
  await page.waitForURL(new RegExp(`/migrations/${id}/rollback$`));
  await page.fill("#confirm-rollback", id);
  await page.fill("#reason-rollback", "a test of forms");
  await page.click("form .buttons button");
  await until(page, "rolled back");
  await page.locator("#events", { hasText: "a test of forms" }).waitFor();
});
