// A migration from request to end, by clicks in Debian's Chromium.
//
// DASHBOARD_URL: a controller with shards shard-a and shard-b, map tenants with all keys on shard-a, one agent.
// DASHBOARD_PICTURES: folder for screenshots at two widths, light and dark.
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { chromium } from "playwright-core";

const url = process.env.DASHBOARD_URL;
const pictures = process.env.DASHBOARD_PICTURES;
const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
  "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const REQUEST = `operation: split
map: tenants
source: shard-a
into:
  - shard: shard-a
    keys: { to: 501 }
  - shard: shard-b
    keys: { from: 501 }
tables:
  tenants: id
  orders: tenant_id
  order_items: tenant_id
`;

const MOVES = `operation: move
map: tenants
moves:
  - source: shard-b
    target: shard-a
    keys: { from: 501, to: 600 }
  - source: shard-b
    target: shard-a
    keys: { from: 600 }
tables:
  tenants: id
  orders: tenant_id
  order_items: tenant_id
options: { moves_at_once: 1 }
`;

let browser, page;
const problems = [];
// A refused form answers with a status that the browser's console reports as an error.
let refusals = 0;

before(async () => {
  mkdirSync(pictures, { recursive: true });
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", headless: true, args: FLAGS });
  page = await browser.newPage();
  page.setDefaultTimeout(60_000);
  page.on("pageerror", (error) => problems.push(`page error: ${error}`));
  page.on("console", (message) => {
    if (message.type() === "error") problems.push(`console: ${message.text()} (${message.location().url})`);
  });
  page.on("request", (request) => {
    if (!request.url().startsWith(url + "/")) problems.push(`foreign request: ${request.url()}`);
  });
});

after(() => browser?.close());

async function photograph(name) {
  for (const width of [1280, 390]) {
    await page.setViewportSize({ width, height: 900 });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(wide <= 0, `${name} is ${wide} pixels too wide at ${width}`);
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      await page.screenshot({ path: join(pictures, `${name}-${width}-${colorScheme}.png`), fullPage: true });
    }
  }
  await page.setViewportSize({ width: 1280, height: 900 });
  await page.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" });
  assert.equal(await page.locator("h1").count(), 1, `${name} has one h1`);
}

const live = () => page.locator("#live[data-state=live]").waitFor();
const state = (name) => page.locator("#head h1 .mark", { hasText: name }).waitFor();
const step = (name, mark) => page.locator("#steps tr", { has: page.locator(`th code:text-is("${name}")`), hasText: mark }).waitFor();

test("the overview shows shards, map and agent", async () => {
  await page.goto(url + "/");
  await live();
  await page.locator("#agents .mark", { hasText: "connected" }).waitFor();
  await page.locator("#maps", { hasText: "tenants" }).waitFor();
  await photograph("overview-empty");
  await page.keyboard.press("Tab");
  assert.equal(await page.locator(":focus").textContent(), "Skip to the content");
});

test("a malformed request is answered with its place", async () => {
  await page.goto(url + "/migrations/new");
  await page.fill("#request", REQUEST.replace("source:", "  source:"));
  await page.click("#make");
  await page.locator("#problem", { hasText: "Line 3" }).waitFor();
  await photograph("request-malformed");
  refusals += 1;
});

test("a request becomes a plan, and the plan a migration", async () => {
  await page.goto(url + "/migrations/new?example=split");
  assert.match(await page.inputValue("#request"), /source: shard-a/);
  await page.fill("#request", REQUEST);
  await page.click("#make");
  await page.locator("pre.plan", { hasText: "public.order_items" }).waitFor();
  await page.locator("pre.plan", { hasText: "Plan hash" }).waitFor();
  await photograph("plan");
  await page.click("#apply");
  await page.waitForURL(/\/migrations\/m[a-z0-9]+$/);
  await live();
});

test("progress comes without a reload", async () => {
  await page.evaluate(() => { window.same = true; });
  await page.locator("#tables tbody tr", { hasText: "public.orders" }).waitFor();
  await photograph("migration-copy");
  await step("copy", "done");
  await step("verify", "done");
  await state("waiting");
  await page.locator("#stream dd", { hasText: "source to target" }).waitFor();
  await photograph("migration-waiting");
  assert.ok(await page.evaluate(() => window.same), "the page was never loaded again");
});

test("what waits is on the overview", async () => {
  const id = page.url().split("/").pop();
  await page.goto(url + "/");
  await page.locator("#attention li", { hasText: `shardwright approve ${id}` }).waitFor();
  await photograph("overview-waiting");
  await page.click("#attention a");
  await live();
});

test("it is paused and resumed", async () => {
  await page.click("#do-pause");
  await state("paused");
  await page.locator("#events tr", { hasText: "migration paused" }).waitFor();
  await photograph("migration-paused");
  await page.click("#do-resume");
  await state("waiting");
});

test("a grave order asks for the id", async () => {
  await live();
  await page.click("#do-abort");
  const dialog = page.locator("#ask-abort");
  await dialog.waitFor();
  await photograph("dialog-abort");
  await dialog.locator("input").fill("something else");
  await dialog.locator("button").click();
  assert.ok(await dialog.isVisible(), "another id is not taken");
  await dialog.locator("[data-close]").click();
  await dialog.waitFor({ state: "hidden" });
});

test("the cutover is approved and the map names the target", async () => {
  await page.click("#do-approve");
  await state("flipped");
  await page.locator("#windows h3", { hasText: /Cutover: [0-9.]+ ms/ }).waitFor();
  await step("hold", "running");
  await photograph("migration-flipped");
  await page.click("#head a[href='/maps/tenants']");
  await page.locator("#ranges tr", { hasText: "shard-b" }).waitFor();
  await page.locator("#versions tr", { hasText: /m[a-z0-9]+/ }).first().waitFor();
  await photograph("map");
  await page.goBack();
});

test("it is finished", async () => {
  await live();
  const id = page.url().split("/").pop();
  await page.click("#do-finish");
  await page.locator("#ask-finish input").fill(id);
  await page.locator("#ask-finish button").click();
  await state("completed");
  await photograph("migration-completed");
});

test("several moves are one operation", async () => {
  await page.goto(url + "/migrations/new?example=move");
  await page.locator("#choose option[selected]", { hasText: "Move keys" }).waitFor({ state: "attached" });
  await page.fill("#request", MOVES);
  await page.click("#make");
  await page.locator("#moves tbody tr").nth(1).waitFor();
  await page.locator("#moves tbody tr", { hasText: "shard-b → shard-a" }).first().waitFor();
  await photograph("plan-of-several");
  await page.click("#apply");
  await page.waitForURL(/\/operations\/m[a-z0-9]+$/);
  await live();
  await page.locator("#moves tbody tr", { hasText: "waits: 1 other move" }).waitFor();
  await photograph("operation-running");
  await page.locator("#head h1 .mark", { hasText: "waiting" }).waitFor();
  await page.goto(url + "/");
  await page.locator("#migrations tr.operation", { hasText: "2 moves" }).waitFor();
  assert.equal(await page.locator("#migrations tr.move").count(), 2);
  await live();
  await photograph("overview-operation");
  await page.click("#migrations tr.operation a");
  await live();
  await page.click("#do-approve");
  await page.locator("#head", { hasText: "2 flipped" }).waitFor();
  await photograph("operation-flipped");
  const id = page.url().split("/").pop();
  await page.click("#do-finish");
  await page.locator("#ask-finish input").fill(id);
  await page.locator("#ask-finish button").click();
  await page.locator("#head h1 .mark", { hasText: "completed" }).waitFor();
});

test("two versions of a map are compared", async () => {
  await page.goto(url + "/maps/tenants");
  await live();
  await page.click("#versions tbody a[href*='diff']");
  await page.locator("h1", { hasText: "Version 3 → 4" }).waitFor();
  await page.selectOption("#from", "1");
  await page.selectOption("#to", "2");
  await page.click(".choice button");
  await page.locator("tbody tr", { hasText: "[501, ∞)" }).waitFor();
  await photograph("map-diff");
});

test("a lost connection is shown and comes back", async () => {
  const context = await browser.newContext();
  const other = await context.newPage();
  await context.route("**/live/**", (route) => route.abort());
  await other.goto(url + "/");
  await other.locator("#live[data-state=lost]", { hasText: "reconnecting" }).waitFor();
  await context.unroute("**/live/**");
  await other.locator("#live[data-state=live]").waitFor();
  await context.close();
});

test("everything can be read and ordered without JavaScript", async () => {
  const plain = await browser.newContext({ javaScriptEnabled: false });
  const still = await plain.newPage();
  await still.goto(url + "/");
  await still.click("#migrations tr.operation a");
  await still.locator("#head h1", { hasText: "move on map tenants" }).waitFor();
  await still.click("#moves tbody a");
  await still.locator("#head h1", { hasText: "shard-b → shard-a" }).waitFor();
  await still.click("nav a:has-text('New migration')");
  await still.selectOption("#choose", "merge");
  await still.click("#example");
  assert.match(await still.inputValue("#request"), /operation: merge/);
  await still.click("#make");
  await still.locator("#problem, pre.plan").first().waitFor();
  await plain.close();
});

test("nothing foreign was asked for and the console stayed clean", () => {
  const refused = problems.filter((problem) => /status of 4\d\d/.test(problem));
  assert.ok(refused.length <= refusals, refused.join("\n"));
  assert.deepEqual(problems.filter((problem) => !refused.includes(problem)), []);
});
