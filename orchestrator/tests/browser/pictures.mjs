// The pictures of the documentation: pages of a real migration, light, 1280 wide, in docs/pictures.
import assert from "node:assert/strict";
import { mkdirSync, statSync } from "node:fs";
import { before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { confirm, cutOver, idOf, live, planned, split, stage, state, step, visit } from "./harness.mjs";

const folder = fileURLToPath(new URL("../../../docs/pictures/", import.meta.url));
// A picture that is larger is a burden to who reads the documentation.
const MOST_BYTES = 200_000;
const REQUEST = split("tenants", { options: "throttle: { rate_bytes_s: 150000 }" });
let page;
// The page of the migration.
let own;

before(async () => {
  mkdirSync(folder, { recursive: true });
  page = await visit({ colorScheme: "light" });
});

/** Keeps what is seen from `top` on, so many pixels of it. */
async function picture(name, { top = "body", height = 900 } = {}) {
  await page.mouse.move(0, 0);
  await page.setViewportSize({ width: 1280, height });
  await page.locator(top).first().evaluate((element) => element.scrollIntoView());
  const path = `${folder}${name}.png`;
  await page.screenshot({ path });
  assert.ok(statSync(path).size <= MOST_BYTES, `${path} has ${statSync(path).size} bytes`);
}

test("a plan", async () => {
  await page.goto(`${stage.url}/migrations/new?view=yaml`);
  await page.fill("#request", REQUEST);
  await page.click("#make");
  await planned(page);
  await picture("plan");
});

test("a migration that copies", async () => {
  await page.click("#apply");
  await page.waitForURL(/\/migrations\/m[a-z0-9]+$/);
  own = page.url();
  await live(page);
  await page.waitForFunction(() => {
    const whole = document.querySelector("#head .whole");
    return whole?.textContent.includes("rows copied") && whole.querySelector("progress").value >= 40;
  });
  await picture("migration");
  await page.click("#at-copy");
  await page.locator("#step pre").first().waitFor();
  await live(page);
  await picture("step", { height: 760 });
  await page.click("#close-step");
  await live(page);
});

test("a migration that waits for its approval", async () => {
  await state(page, "waiting");
  await page.goto(stage.url);
  await live(page);
  await page.locator("#attention li").waitFor();
  await picture("overview");
  await page.goto(own);
  await live(page);
});

test("a cutover", async () => {
  const id = idOf(page);
  await cutOver(page);
  await step(page, "hold", "running");
  await page.locator("#windows h3").waitFor();
  await page.goto(`${own}/switch`);
  await live(page);
  await picture("cutover");
  await page.goto(`${stage.url}/maps/tenants`);
  await live(page);
  await page.locator("#versions tr", { hasText: id }).waitFor();
  await picture("map", { height: 760 });
});

test("the evidence of it", async () => {
  await page.goto(own);
  await live(page);
  await confirm(page, "finish");
  await state(page, "completed");
  await page.goto(`${stage.url}/api/v1/operations/${own.split("/").pop()}/report?format=html`);
  await page.locator("h1", { hasText: "Report of" }).waitFor();
  await picture("report");
});
