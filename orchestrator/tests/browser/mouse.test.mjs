// The life of a migration by the mouse alone: from the picture of its map to the roll back, and a second one to its end.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { withMouse } from "./alone.mjs";
import { idOf, live, planned, send, stage, state } from "./harness.mjs";
import { nameTables, spoilPassword } from "./life.mjs";

let person, page;

before(async () => {
  await nameTables("payments");
  person = await withMouse();
  page = person.page;
});

after(() => person.leave());

/** From the list of maps to a migration that was submitted; `meanwhile` happens while the plan is read. */
async function submitSplit(meanwhile) {
  await page.click("nav a[href='/maps']");
  await page.click("#maps a[href='/maps/payments']");
  await live(page);
  await page.selectOption("#seconds", "0");
  await send(page, "#measure");
  await page.locator("#measured", { hasText: "Load measured" }).waitFor();
  await page.click(".map-piece");
  await page.locator("#piece", { hasText: "on shard payments-a" }).waitFor();
  assert.match(await page.locator("#split-at").inputValue(), /^\d+$/, "the median is filled in");
  await page.selectOption("#split-target", "payments-b");
  await send(page, "#split-piece button");
  await page.locator("#check", { hasText: "from payments-a to payments-b (online)." }).waitFor();
  await page.click("#make");
  await planned(page);
  await page.click("#plan-steps summary");
  await page.locator("#plan-steps tr", { hasText: "cutover" }).waitFor();
  meanwhile?.();
  await page.click("#apply");
  await page.waitForURL(/\/migrations\/m[a-z0-9]+$/);
  await live(page);
}

/** Opens the dialog of a dangerous command, fills in the id by its button, and gives the command. */
async function give(command) {
  await page.click(`#do-${command}`);
  const dialog = page.locator(`#ask-${command}`);
  await dialog.locator("[data-fill]").click();
  assert.equal(await dialog.locator("input[name=confirm]").inputValue(), idOf(page));
  await send(page, `#ask-${command} .buttons button`);
}

test("a migration is submitted, fails, is repaired, resumed, paused, approved and rolled back", async () => {
  await person.open(stage.url);
  await submitSplit();
  await state(page, "waiting");
  await send(page, "#do-pause");
  await state(page, "paused");
  const repair = spoilPassword("payments");
  await send(page, "#do-resume");
  await state(page, "waiting");
  await give("approve");
  await state(page, "failed");
  await page.locator("#head .notice.bad", { hasText: "payments-b" }).waitFor();
  repair();
  await send(page, "#do-resume");
  await state(page, "in hold");
  await give("rollback");
  await state(page, "rolled back");
  await give("finish");
  await page.locator("#orders", { hasText: "no command is possible" }).waitFor();
});

test("another one is approved and finished", async () => {
  await page.click(".brand");
  await submitSplit();
  await state(page, "waiting");
  await give("approve");
  await state(page, "in hold");
  await give("finish");
  await state(page, "completed");
  await page.click("nav a[href='/maps']");
  await page.click("#maps a[href='/maps/payments']");
  await page.locator("#owners tr", { hasText: "payments-b" }).waitFor();
  console.log(`${person.wasAlone()} clicks, no key`);
});
