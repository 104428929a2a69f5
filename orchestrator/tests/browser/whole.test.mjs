// A migration from its request to the roll back and the end, watched on one page that is never loaded again.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { confirm, cutOver, idOf, live, look, planned, send, split, stage, state, step, visit } from "./harness.mjs";

// Bytes a second: slow enough to be watched.
const RATE = 500_000;
const REQUEST = split("tenants", { options: `throttle: { rate_bytes_s: ${RATE} }` });
let page;

before(async () => { page = await visit(); });

test("a plan that was typed is shown before anything is changed", async () => {
  await page.goto(`${stage.url}/migrations/new?example=split&view=yaml`);
  assert.match(await page.inputValue("#request"), /operation: split/);
  await page.fill("#request", REQUEST);
  await page.click("#make");
  await page.locator("#moves tbody tr", { hasText: "tenants-a → tenants-b" }).waitFor();
  await planned(page, "public.order_items");
  await look(page, "plan");
});

test("a request that is pasted as JSON gives the same plan", async () => {
  const typed = await page.locator("pre.plan").textContent();
  const request = {
    operation: "split", map: "tenants", source: "tenants-a",
    into: [{ shard: "tenants-a", keys: { to: 501 } }, { shard: "tenants-b", keys: { from: 501 } }],
    tables: { tenants: "id", orders: "tenant_id", order_items: "tenant_id" },
    options: { throttle: { rate_bytes_s: RATE } },
  };
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.goto(`${stage.url}/migrations/new?view=yaml`);
  await page.evaluate((text) => navigator.clipboard.writeText(text), JSON.stringify(request, null, 2));
  await page.focus("#request");
  await page.keyboard.press("Control+V");
  await page.click("#make");
  await planned(page);
  const figures = (text) => text.replace(/ in \d+ ms /g, " ");
  assert.equal(figures(await page.locator("pre.plan").textContent()), figures(typed));
});

test("the copy goes to 100 % before the reader's eyes", async () => {
  await page.click("#apply");
  await page.waitForURL(/\/migrations\/m[a-z0-9]+$/);
  await page.evaluate(() => {
    window.seen = [];
    const shares = () => document.querySelectorAll("#head .whole").forEach((whole) => {
      if (whole.textContent.includes("rows copied")) window.seen.push(whole.querySelector("progress").value);
    });
    new MutationObserver(shares).observe(document.body, { childList: true, subtree: true });
  });
  await live(page);
  await page.locator("#tables tbody tr", { hasText: "public.orders" }).waitFor();
  await look(page, "migration-copy");
  await step(page, "copy", "done");
  await step(page, "verify", "done");
  const seen = await page.evaluate(() => window.seen);
  assert.ok(seen.length > 2, `figures came: ${seen}`);
  assert.ok(seen.at(-1) > seen[0], `and grew: ${seen}`);
});

test("it waits for the approval, on its page and on the overview", async () => {
  await state(page, "waiting");
  await page.locator("#stream dd", { hasText: "source to target" }).waitFor();
  await look(page, "migration-waiting");
  const other = await visit();
  await other.goto(stage.url);
  const item = other.locator("#attention li", { hasText: `shardwright approve ${idOf(page)}` });
  await item.waitFor();
  await look(other, "overview");
  await item.locator("a", { hasText: "Details" }).click();
  await state(other, "waiting");
  await other.context().close();
});

test("the cutover shows its write-blocked window in milliseconds", async () => {
  await cutOver(page);
  const heading = page.locator("#windows h3", { hasText: /Cutover: [0-9.]+ ms/ });
  await heading.waitFor();
  const [, total] = /Cutover: ([0-9.]+) ms/.exec(await heading.textContent());
  assert.ok(Number(total) > 0 && Number(total) < 2000, `${total} ms are within the budget`);
  assert.ok(await page.locator("#windows .legend li").count() >= 5, "its parts are shown");
  await step(page, "hold", "running");
  await look(page, "migration-in-hold");
});

test("the map names the target", async () => {
  const other = await visit();
  await other.goto(`${stage.url}/maps/tenants`);
  await other.locator("#owners tr", { hasText: "tenants-b" }).waitFor();
  await other.locator("#versions tr", { hasText: idOf(page) }).waitFor();
  await look(other, "map");
  await other.context().close();
});

test("it is rolled back on the page of the cutover, with a write-blocked window of its own", async () => {
  const id = idOf(page);
  await page.goto(`${stage.url}/migrations/${id}/switch`);
  await live(page);
  await page.locator("#switch tr", { hasText: "tenants-b", has: page.locator("td", { hasText: "takes every read and write" }) }).waitFor();
  await page.click("#do-rollback");
  await page.fill("#confirm-rollback", id);
  await page.fill("#reason-rollback", "the new server is slow");
  await send(page, "#ask-rollback .buttons button");
  await page.waitForURL(/\/switch$/);
  await page.locator("#attempts tr", { hasText: "back to the source", has: page.locator(".mark", { hasText: "rolled back" }) }).waitFor();
  await page.locator("#windows h3", { hasText: /Roll ?back: [0-9.]+ ms/i }).waitFor();
  assert.equal(await page.locator("#attempts tbody tr").count(), 2, "the attempt forward and the one back");
  await look(page, "switch-rolled-back");
  await page.goto(`${stage.url}/migrations/${id}`);
  await live(page);
  await state(page, "rolled back");
  await page.locator("#rollback-request", { hasText: /^Rollback requested by .+ UTC, reason: “the new server is slow”/ }).waitFor();
  await page.locator("#phase-clean-up", { hasText: "waits for Finish" }).waitFor();
  await page.locator("#do-finish", { hasText: "Finish, drop the copy…" }).waitFor();
  assert.equal(await page.locator("#orders .first").count(), 0, "nothing waits for another cutover");
  await page.locator("#timeline", { hasText: "waits for you" }).waitFor();
  const waiting = await page.locator("#timeline .mark", { hasText: "waits for you" }).count();
  assert.equal(waiting, 1, "one phase waits");
  await look(page, "migration-rolled-back");
});

test("the copy is dropped, and the keys are where they were", async () => {
  await confirm(page, "finish");
  await page.locator("#orders", { hasText: "no command is possible" }).waitFor();
  const map = await (await fetch(`${stage.url}/api/v1/maps/tenants`)).json();
  assert.deepEqual(map.mappings.map(({ shard }) => shard), ["tenants-a"]);
});

test("the evidence of it is one page", async () => {
  await page.goto(`${stage.url}/api/v1/operations/${idOf(page)}/report?format=html`);
  await page.locator("h1", { hasText: "Report of split" }).waitFor();
  await page.locator("h3", { hasText: /write-blocked window of [0-9.]+ ms/ }).first().waitFor();
  await look(page, "report");
});
