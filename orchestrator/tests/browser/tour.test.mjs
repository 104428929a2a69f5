// What else an operator does with migrations: pause, resume, finish, several moves as one operation, compare maps.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import {
  NARROW, WIDE, confirm, confirmWrong, cutOver, idOf, live, look, part, post, send, split, stage, state, submit, visit,
} from "./harness.mjs";

const MOVES = `operation: move
map: projects
moves:
  - { source: projects-b, target: projects-a, keys: { from: 501, to: 600 } }
  - { source: projects-b, target: projects-a, keys: { from: 600 } }
tables: { tenants: id, orders: tenant_id, order_items: tenant_id }
options: { moves_at_once: 1 }
`;
let page;

before(async () => { page = await visit(); });

test("the overview shows shards and agents, and its first stop is the way past the head", async () => {
  await page.goto(stage.url);
  await live(page);
  await page.locator("#fleet h2", { hasText: / agents? connected/ }).waitFor();
  await page.locator("#fleet li", { hasText: "projects-a" }).waitFor();
  await page.keyboard.press("Tab");
  assert.equal(await page.locator(":focus").textContent(), "Skip to the content");
});

test("a migration is paused, resumed and finished", async () => {
  await submit(page, stage.url, split("projects"));
  await live(page);
  await state(page, "waiting");
  await send(page, "#do-pause");
  await state(page, "paused");
  await part(page, "events");
  await page.locator("#events tr", { hasText: "migration paused" }).waitFor();
  await look(page, "migration-paused");
  await part(page, "course");
  await page.locator("#course figure").first().waitFor();
  assert.ok(await page.locator("#events").isHidden(), "one part at a time");
  await look(page, "migration-charts");
  await send(page, "#do-resume");
  await cutOver(page);
  await confirm(page, "finish");
  await state(page, "completed");
  await look(page, "migration-completed");
});

test("a step is looked at beside the others", async () => {
  await page.click("#at-copy");
  await page.waitForURL(/\?step=copy#step$/);
  await live(page);
  const panel = page.locator("#step");
  await panel.locator(".mark", { hasText: "done" }).waitFor();
  await panel.locator("li", { hasText: "step completed" }).waitFor();
  const [beside, timeline] = [await panel.boundingBox(), await page.locator("#timeline").boundingBox()];
  assert.ok(beside.x >= timeline.x + timeline.width, "it is at the side of the timeline");
  await look(page, "migration-step");
  await page.click("#close-step");
  await page.waitForURL(/\/migrations\/m[a-z0-9]+$/);
  assert.equal(await panel.count(), 0);
});

test("the list is filtered, the filter stands in the address, and the agents say whom they work for", async () => {
  const id = idOf(page);
  await page.click("nav a[href='/migrations']");
  await live(page);
  await page.selectOption("#state", "completed");
  await page.fill("#q", "projects");
  await page.click("#search");
  await page.waitForURL(/\?state=completed&q=projects$/);
  await page.locator(`#list a[href="/migrations/${id}"]`).waitFor();
  await look(page, "migrations");
  await page.fill("#q", "nothing like it");
  await page.click("#search");
  await page.locator("#list", { hasText: "No migration matches" }).waitFor();
  await page.click("nav summary");
  await page.click("nav a[href='/agents']");
  await page.locator("#agents .mark", { hasText: "connected" }).waitFor();
  await look(page, "agents");
  await page.click("nav a[href='/activity']");
  await page.fill("#q", id);
  await page.click("#search");
  await page.locator("#trail tr", { hasText: `POST /migrations/${id}/finish` }).waitFor();
  await look(page, "activity");
});

test("the doctor examines the shards of a map", async () => {
  await page.click("nav summary");
  await page.click("nav a[href='/doctor']");
  await page.selectOption("#what", "map projects");
  await page.click("#examine");
  await page.locator("#found h3", { hasText: "Shard projects-a" }).waitFor();
  await page.locator("#found [role=status]", { hasText: "2 shards were examined" }).waitFor();
  await look(page, "doctor");
});

test("a theme is chosen and kept", async () => {
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  await page.emulateMedia({ colorScheme: "light" });
  const light = await ground();
  await page.selectOption("#theme-choice", "dark");
  const dark = await ground();
  assert.notEqual(dark, light);
  await page.goto(stage.url);
  assert.equal(await ground(), dark, "it is kept");
  await page.emulateMedia({ colorScheme: "dark" });
  await page.selectOption("#theme-choice", "light");
  assert.equal(await ground(), light, "it is stronger than the system's");
  await page.selectOption("#theme-choice", "");
  assert.equal(await ground(), dark);
});

test("the fleet, its shards and its activity are reached by the keyboard", async () => {
  await post(stage.url, "/api/v1/fleet/reconcile", {});
  await page.goto(stage.url);
  await live(page);
  await page.locator("#fleet li", { hasText: "projects-a" }).locator(".value", { hasText: "iB" }).waitFor();
  await page.keyboard.press("g");
  await page.keyboard.press("s");
  await page.waitForURL(/\/shards$/);
  await page.keyboard.press("/");
  await page.keyboard.type("projects-a");
  await page.keyboard.press("Enter");
  await page.waitForURL(/q=projects-a/);
  await page.click("#list a[href='/shards/projects-a']");
  await page.locator("#head .mark", { hasText: "reachable" }).waitFor();
  await page.locator("#tables", { hasText: "orders" }).waitFor();
  await live(page);
  await look(page, "shard");
  await page.keyboard.press("g");
  await page.keyboard.press("m");
  await page.waitForURL(/\/maps$/);
  await page.locator("#maps a[href='/maps/projects']").waitFor();
  await page.keyboard.press("?");
  await page.locator("#keyboard[open]").waitFor();
  await page.keyboard.press("Escape");
  await page.locator("#keyboard").waitFor({ state: "hidden" });
  await page.keyboard.press("g");
  await page.keyboard.press("a");
  await page.waitForURL(/\/activity$/);
  await page.locator("time.ago", { hasText: / ago|just now/ }).first().waitFor();
  await page.keyboard.press("n");
  await page.waitForURL(/\/migrations\/new/);
  await page.goto(`${stage.url}/migrations/new?view=yaml`);
  await page.focus("#request");
  await page.keyboard.type("gs?");
  assert.equal(await page.inputValue("#request"), "gs?", "letters in a field are text");
  assert.match(page.url(), /\/migrations\/new/);
});

test("on a narrow screen the links are in a menu", async () => {
  await page.setViewportSize(NARROW);
  await page.goto(stage.url);
  const bar = await page.locator(".top").boundingBox();
  assert.ok(bar.height < 64, `the header takes one row, not ${bar.height} pixels`);
  const link = page.locator("#menu a[href='/shards']");
  assert.equal(await link.isVisible(), false);
  await page.click("#open-menu");
  await link.click();
  await page.waitForURL(/\/shards$/);
  await page.setViewportSize(WIDE);
});

test("several moves are one operation", async () => {
  const id = await submit(page, stage.url, MOVES);
  assert.match(page.url(), /operations/);
  await live(page);
  await page.locator("#moves tbody tr", { hasText: "waits: 1 other move" }).waitFor();
  await look(page, "operation-running");
  await page.locator("#head h1 .mark", { hasText: "waiting" }).waitFor();
  await page.goto(stage.url);
  await page.locator("#migrations tr.operation", { has: page.locator(`a[href="/operations/${id}"]`), hasText: "2 moves" }).waitFor();
  await page.click(`#migrations a[href="/operations/${id}"]`);
  await live(page);
  const operation = page.url();
  await confirmWrong(page, `${operation}/approve`);
  await page.goto(operation);
  await live(page);
  await confirm(page, "approve");
  await page.locator("#head", { hasText: "2 in hold" }).waitFor();
  await confirm(page, "finish");
  await page.locator("#head h1 .mark", { hasText: "completed" }).waitFor();
  assert.equal(idOf(page), id);
});

test("two versions of a map are compared", async () => {
  await page.goto(`${stage.url}/maps/projects`);
  await live(page);
  await page.click("#versions tbody a[href*='diff']");
  await page.locator("h1", { hasText: "Version 3 → 4" }).waitFor();
  await page.selectOption("#from", "1");
  await page.selectOption("#to", "2");
  await page.click(".choice button");
  await page.locator("tbody tr", { hasText: "[501, ∞)" }).waitFor();
  await look(page, "map-diff");
});
