// The life of a migration by the keyboard alone: from the overview to the roll back, and a second one to its end.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { withKeyboard } from "./alone.mjs";
import { idOf, live, planned, stage, state } from "./harness.mjs";
import { nameTables, spoilPassword } from "./life.mjs";

let person, page;
/** How many keys the main action of each page takes, from its top. */
const keys = {};

before(async () => {
  await nameTables("customers");
  person = await withKeyboard();
  page = person.page;
});

after(() => person.leave());

async function replace(selector, text) {
  await person.tabTo(selector);
  await person.press("Control+A");
  await person.type(text);
}

/** Uses the main action of a page; counts its keys once, as the page has just been loaded then. */
async function useMain(name, selector) {
  const pressed = await person.use(selector, { fromTop: true });
  keys[name] ??= pressed;
}

/** Fills in the form of a new migration and submits its plan; `meanwhile` happens while the plan is read. */
async function submitSplit(meanwhile) {
  await person.press("n");
  await page.waitForURL(/migrations\/new/);
  await person.tabTo("#choose");
  await person.press("Home");
  await person.tabTo("#map");
  await person.press("c");
  await person.use("#example");
  await page.waitForURL(/map=customers/);
  await replace("#f-source", "customers-a");
  await person.tabTo("#f-even");
  await person.press("a");
  await page.locator("#f-to-0").waitFor();
  await person.hasFocus("#f-even");
  await replace("#f-shard-0", "customers-a");
  await replace("#f-to-0", "501");
  await replace("#f-shard-1", "customers-b");
  await replace("#f-from-1", "501");
  await page.locator("#check", { hasText: "It would move [501, ∞) from customers-a to customers-b (online)." }).waitFor();
  await person.press("Enter");
  await planned(page);
  await useMain("plan", "#plan-steps > summary");
  await page.locator("#plan-steps tr", { hasText: "cutover" }).waitFor();
  await person.tabTo("#queue");
  await person.press("Space");
  assert.ok(await page.locator("#queue").isChecked());
  meanwhile?.();
  await person.press("Shift+Tab", "Enter");
  await page.waitForURL(/\/migrations\/m[a-z0-9]+$/);
  await live(page);
}

/** Gives a command without confirmation, and waits for the state that follows. */
async function command(name, next) {
  await useMain(name, `#do-${name}`);
  await state(page, next);
  await live(page);
}

/** Gives a dangerous command in its dialog. */
async function give(name) {
  await useMain(name, `#do-${name}`);
  await person.hasFocus(`#ask-${name} #confirm-${name}`);
  await person.type(idOf(page));
  await person.press("Enter");
}

test("a migration is submitted, fails, is repaired, resumed, paused, approved and rolled back", async () => {
  await person.open(stage.url);
  await live(page);
  await submitSplit();
  await state(page, "waiting");
  await command("pause", "paused");
  const repair = spoilPassword("customers");
  await command("resume", "waiting");
  await give("approve");
  await state(page, "failed");
  await page.locator("#head .notice.bad", { hasText: "customers-b" }).waitFor();
  repair();
  await command("resume", "in hold");
  await give("rollback");
  await state(page, "rolled back");
  await give("finish");
  await page.locator("#orders", { hasText: "no command is possible" }).waitFor();
});

test("another one is approved and finished; its dialog keeps the focus and gives it back", async () => {
  await person.press("g", "o");
  await page.waitForURL(/\/$/);
  await submitSplit();
  await person.tabTo("#head .crumbs a");
  await state(page, "waiting");
  await person.hasFocus("#head .crumbs a");
  await person.use("#do-approve");
  await person.hasFocus("#ask-approve #confirm-approve");
  await person.tabTo("#ask-approve .buttons a");
  await person.press("Tab");
  await person.tabTo("#ask-approve #confirm-approve");
  await person.press("Escape");
  await page.locator("#ask-approve").waitFor({ state: "hidden" });
  await person.hasFocus("#do-approve");
  await give("approve");
  await state(page, "in hold");
  await give("finish");
  await state(page, "completed");
  console.log(`${person.wasAlone()} keys, no click; from the top of a page:`, keys);
  assert.ok(Math.max(...Object.values(keys)) <= 10, "no main action is far from the top");
});
