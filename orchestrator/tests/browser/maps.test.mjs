// From the picture of a map to a migration, by the mouse alone and by the keyboard alone; the two sides of a request;
// the versions of a map.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { tabTo } from "./alone.mjs";
import { cutOver, examine, idOf, live, look, planned, stage, state, visit } from "./harness.mjs";
import { nameTables } from "./life.mjs";

let page;

before(async () => {
  page = await visit();
  for (const map of ["vendors", "stores"]) await nameTables(map);
});

/** The text of the request, which is hidden while the form is shown. */
const request = () => page.inputValue("#request");

test("a piece is split by the mouse alone", async () => {
  await page.goto(`${stage.url}/maps/vendors`);
  await live(page);
  await page.locator(".measure.off", { hasText: "rows" }).waitFor();
  await page.selectOption("#seconds", "0");
  await page.click("#measure");
  await page.waitForURL(/by=rows$/);
  await page.locator("#measured", { hasText: "Load measured" }).waitFor();
  await page.click(".map-piece");
  await page.waitForURL(/piece=0#piece$/);
  await page.locator("#piece", { hasText: "on shard vendors-a" }).waitFor();
  await look(page, "map-piece");
  await page.click("#piece a:has-text('the median of the rows')");
  await page.waitForURL(/migrations\/new/);
  await page.fill("[name='shard.1']", "vendors-b");
  await page.locator("#check", { hasText: "from vendors-a to vendors-b (online)." }).waitFor();
  await page.locator("#estimate h2", { hasText: "The plan" }).waitFor();
  await look(page, "request-form");
  await page.click("#make");
  await planned(page);
  await page.locator(".plan-sentence", { hasText: /^Moves about .* rows \(.*\) of keys \[.*, ∞\) from vendors-a to vendors-b\.$/ }).waitFor();
  assert.equal(await page.locator("#fields").isVisible(), false, "the editor is folded");
  await look(page, "plan-of-a-map");
  await page.click("#apply");
  await page.waitForURL(/\/migrations\/m[a-z0-9]+$/);
  await live(page);
  await cutOver(page);
});

test("a boundary is dragged, or moved by arrow keys, and becomes a request", async () => {
  await page.goto(`${stage.url}/maps/vendors`);
  await live(page);
  const handle = page.locator(".map-cut");
  await handle.waitFor();
  const bar = await page.locator(".map-bar").boundingBox();
  const grip = await handle.locator("rect").boundingBox();
  const middle = grip.y + grip.height / 2;
  await page.mouse.move(grip.x + grip.width / 2, middle);
  await page.mouse.down();
  await page.mouse.move(bar.x + bar.width * 0.25, middle, { steps: 5 });
  await page.locator(".map-tip", { hasText: /Split at \d+: keys of vendors-a from there on move to vendors-b/ }).waitFor();
  await page.mouse.up();
  await page.waitForURL(/migrations\/new/);
  assert.match(await request(), /source: vendors-a\ninto:\n {2}- shard: vendors-a\n {4}keys: \{ to: \d+ \}\n {2}- shard: vendors-b/);
  await page.goto(`${stage.url}/maps/vendors`);
  await live(page);
  await handle.focus();
  // The piece on the right has no place to split at: it has no end, and was not measured since it moved.
  await page.keyboard.press("ArrowLeft");
  await page.locator(".map-tip", { hasText: /keys of vendors-a from there on move to vendors-b/ }).waitFor();
  await page.keyboard.press("Enter");
  await page.waitForURL(/migrations\/new/);
  assert.match(await request(), /source: vendors-a\ninto:\n {2}- shard: vendors-a/);
});

test("a piece that is dropped on a shard moves there", async () => {
  await page.goto(`${stage.url}/maps/vendors`);
  await live(page);
  await page.locator(".map-piece[data-shard=vendors-a]").dragTo(page.locator(".map-legend li[data-shard=vendors-b]"));
  await page.waitForURL(/migrations\/new/);
  assert.match(await request(), /operation: move\nmap: vendors\nmoves:\n {2}- source: vendors-a\n {4}target: vendors-b\n {4}keys: \{ to: \d+ \}/);
});

test("versions are shown by the slider, each with who made it and what it changed", async () => {
  await page.goto(`${stage.url}/maps/vendors`);
  await live(page);
  await page.locator("#timeline .changes", { hasText: "vendors-a → vendors-b" }).waitFor();
  await page.locator("#timeline a[href^='/migrations/m']").waitFor();
  assert.equal(await page.locator(".changed-keys").count(), 1);
  await page.focus("#version");
  await page.keyboard.press("ArrowLeft");
  await page.waitForURL(/version=1/);
  await page.locator(".lead", { hasText: "Version 1 of 2, not in force" }).waitFor();
  assert.equal(await page.locator(".map-piece").count(), 1);
  await page.click(".map-piece");
  await page.locator("#piece", { hasText: "This version is not in force" }).waitFor();
  await page.click("#newer");
  await page.locator(".lead", { hasText: "Version 2 is in force" }).waitFor();
  await look(page, "map-of-two-shards");
});

test("the form and the YAML stay in sync", async () => {
  await page.goto(`${stage.url}/migrations/new?example=split&map=stores`);
  await page.fill("[name='from.1']", "701");
  await page.fill("[name='to.0']", "701");
  await page.locator("#check", { hasText: "[701, ∞)" }).waitFor();
  assert.match(await request(), /keys: \{ from: 701 \}/);
  await page.click("#options summary");
  await page.selectOption("#o-mode", "offline");
  await page.locator("#check", { hasText: "(offline)" }).waitFor();
  await page.click("#as-yaml");
  assert.match(await request(), /options:\n {2}mode: offline/);
  await page.fill("#request", (await request()).replaceAll("701", "801") + "  throttle: { rate_bytes_s: 5000 }\n");
  await page.locator("#check", { hasText: "[801, ∞)" }).waitFor();
  await page.click("#as-form");
  assert.equal(await page.inputValue("[name='from.1']"), "801");
  await page.fill("[name='shard.1']", "");
  await page.locator("#check .wrong").waitFor();
  await page.fill("[name='shard.1']", "stores-b");
  await page.locator("#check", { hasText: "from stores-a to stores-b (offline)" }).waitFor();
  assert.match(await request(), /throttle: \{ rate_bytes_s: 5000 \}/, "what the form does not show is kept");
  await page.selectOption("#f-even", "rows");
  await page.locator("#check", { hasText: "depends on the load" }).waitFor();
  await page.locator("[name='share.0']").waitFor();
  assert.match(await request(), /even: rows/);
});

test("a form that is sent to become YAML, as without JavaScript, is the same page", async () => {
  await page.goto(`${stage.url}/migrations/new?example=split&map=stores`);
  await page.evaluate(() => {
    const form = document.getElementById("request-form");
    form.insertAdjacentHTML("beforeend", "<input type=hidden name=view value=yaml>");
    form.action = "/migrations/new";
    form.submit();
  });
  await page.locator("#request").waitFor();
  await examine(page, "a request that was sent to become YAML");
});

test("a piece is split by the keyboard alone", async () => {
  await page.goto(`${stage.url}/maps/stores`);
  await live(page);
  await tabTo(page, "a.map-piece");
  await page.keyboard.press("Enter");
  await page.waitForURL(/piece=0#piece$/);
  await live(page);
  await tabTo(page, "#split-at");
  await page.keyboard.press("Control+A");
  await page.keyboard.type("501");
  await tabTo(page, "#split-target");
  await page.keyboard.type("stores-b");
  await tabTo(page, "#split-piece button");
  await page.keyboard.press("Enter");
  await page.waitForURL(/migrations\/new/);
  await tabTo(page, "#make");
  await page.keyboard.press("Enter");
  await page.locator("#apply").waitFor();
  await tabTo(page, "#apply");
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/migrations\/m[a-z0-9]+$/);
  await live(page);
  await state(page, "waiting");
  assert.match(idOf(page), /^m/);
});
