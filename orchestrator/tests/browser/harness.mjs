// What scenarios share: a browser whose pages are watched, and the words of the dashboard.
//
// DASHBOARD: where controllers are, as JSON. DASHBOARD_PICTURES: folder for screenshots. DASHBOARD_EXAMINED: folder for
// the names of pages that were examined.
// Every test fails on an error in the console or of a page, on a request to another host, and on an answer that
// refuses something, unless `refused` waited for it.
import assert from "node:assert/strict";
import { appendFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { after, afterEach } from "node:test";
import { chromium } from "playwright-core";
import { hasContrast, isAccessible } from "./axe.mjs";

export const stage = JSON.parse(process.env.DASHBOARD);
const pictures = process.env.DASHBOARD_PICTURES;
const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
  "--disable-background-networking", "--disable-component-update", "--disable-sync"];
export const WIDE = { width: 1440, height: 900 };
export const NARROW = { width: 390, height: 900 };
/** How every page is examined: width, theme, and whether by all rules of axe: another theme changes only colors. */
const SIGHTS = [
  [NARROW, "light", false],
  [NARROW, "dark", true],
  [WIDE, "dark", false],
  [WIDE, "light", true],
];
/** Where controllers are; a request to any other host is a problem. */
export const origins = new Set([stage.url, stage.locked?.url, ...(stage.states ?? []).map(({ url }) => url)]);
// An answer that refuses is counted by its status; this is what the console says of the same.
const REFUSED_IN_CONSOLE = /^Failed to load resource: the server responded with a status of/;

mkdirSync(pictures, { recursive: true });
export const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", headless: true, args: FLAGS });
const problems = [];
/** How each page came: the method of the request that it answers. */
const methods = new WeakMap();

afterEach(() => assert.deepEqual(problems.splice(0), [], "the pages have problems"));

after(() => browser.close());

/** A page of a new visitor; `allowed` is what its console may say. */
export async function visit({ allowed = /^$/, ...options } = {}) {
  const context = await browser.newContext({ viewport: WIDE, reducedMotion: "reduce", ...options });
  context.setDefaultTimeout(60_000);
  const page = await context.newPage();
  watch(page, allowed);
  return page;
}

function watch(page, allowed) {
  page.on("pageerror", (error) => problems.push(`page error: ${error}`));
  page.on("console", (message) => {
    const text = message.text();
    if (message.type() !== "error" || REFUSED_IN_CONSOLE.test(text) || allowed.test(text)) return;
    problems.push(`console: ${text} (${message.location().url})`);
  });
  page.on("request", (request) => {
    const { origin } = new URL(request.url());
    if (!origins.has(origin)) problems.push(`foreign request: ${request.url()}`);
  });
  page.on("response", (response) => {
    if (response.status() >= 400) problems.push(refusal(response));
    if (response.request().isNavigationRequest()) methods.set(page, response.request().method());
  });
}

const refusal = (response) => `refused with ${response.status()}: ${response.url()}`;

/** Does something that must be refused with this status. */
export async function refused(page, status, act) {
  const answer = page.waitForResponse((response) => response.status() >= 400);
  await act();
  const response = await answer;
  assert.equal(response.status(), status, response.url());
  problems.splice(problems.indexOf(refusal(response)), 1);
}

/** A request of a split of `map` at `at`; `options` are YAML. */
export const split = (map, { at = 501, options = "" } = {}) => `operation: split
map: ${map}
source: ${map}-a
into:
  - shard: ${map}-a
    keys: { to: ${at} }
  - shard: ${map}-b
    keys: { from: ${at} }
tables:
  tenants: id
  orders: tenant_id
  order_items: tenant_id
options: { ${options} }
`;

/** Types a request, reads the plan, applies it; returns the id that the address ends with. */
export async function submit(page, url, request) {
  await page.goto(`${url}/migrations/new?view=yaml`);
  await page.fill("#request", request);
  await page.click("#make");
  await planned(page);
  await page.click("#apply");
  await page.waitForURL(/\/(migrations|operations)\/m[a-z0-9]+$/);
  return idOf(page);
}

/** The page has a plan; its text is folded. */
export const planned = (page, hasText = "Plan hash") =>
  page.locator("pre.plan", { hasText }).waitFor({ state: "attached" });

export const idOf = (page) => new URL(page.url()).pathname.split("/").pop();

/** The badge says that news come. */
export const live = (page) => page.locator("#live[data-state=live]").waitFor();

export const state = (page, name) => page.locator("#head h1 .mark", { hasText: name }).waitFor();

/** The table of steps, which is folded, shows the step like this. */
export const step = (page, name, mark) => page.locator("#steps tr", {
  has: page.locator(`th a[href*="step=${name}#"]`), hasText: mark }).waitFor({ state: "attached" });

/** Shows a part of the page of a migration: tables, course, events, plan or evidence. */
export const part = (page, name) => page.click(`#tabs a[href="#${name}"]`);

/** Clicks what sends a form, and waits for the page that answers: news may tell of it on the page before. */
export async function send(page, button) {
  const answered = page.waitForEvent("framenavigated", (frame) => !frame.parentFrame());
  await page.click(button);
  await answered;
}

/** Gives a grave order: opens its dialog and types the id. */
export async function confirm(page, order) {
  await page.click(`#do-${order}`);
  await page.locator(`#confirm-${order}`).fill(idOf(page));
  await send(page, `#ask-${order} .buttons button`);
}

/** Gives the grave order of this page of confirmation with another id, and examines the page that refuses it. */
export async function confirmWrong(page, url) {
  await page.goto(url);
  await page.locator("input[name=confirm]").evaluate((input) => input.removeAttribute("pattern"));
  await page.fill("input[name=confirm]", "m0");
  await refused(page, 422, () => page.click("main form .buttons button"));
  await page.locator("[role=alert]", { hasText: /is not the (id|name)/ }).waitFor();
  await examine(page, `the confirmation of ${url} with another id`);
}

/** Approves the cutover and waits until the target has the keys. */
export async function cutOver(page) {
  await state(page, "waiting");
  await confirm(page, "approve");
  await state(page, "in hold");
}

/** Asks the API; the answer's JSON, which must come with this status. */
export async function api(url, path, { status = 200, token, ...options } = {}) {
  const headers = { "content-type": "application/json", ...(token && { authorization: `Bearer ${token}` }) };
  const answer = await fetch(url + path, { headers, ...options });
  const text = await answer.text();
  assert.equal(answer.status, status, `${path}: ${text}`);
  return text && JSON.parse(text);
}

export const post = (url, path, body, options) =>
  api(url, path, { method: "POST", body: JSON.stringify(body), ...options });

/** Examines the page as it is at both widths, in both themes, and keeps pictures; ends with the wide, light one. */
export async function look(page, name) {
  await examine(page, name);
  for (const [size, theme] of [[NARROW, "dark"], [WIDE, "light"]]) {
    await show(page, size, theme);
    await page.screenshot({ path: join(pictures, `${name}-${size.width}-${theme}.png`), fullPage: true });
  }
}

/** At both widths, in both themes: layout, and no finding of axe; ends like `look`. */
export async function examine(page, name) {
  for (const [size, theme, byAll] of SIGHTS) {
    const where = `${name} at ${size.width}, ${theme}`;
    await show(page, size, theme);
    await fits(page, where);
    await hasContrast(page, where);
    if (byAll) await isAccessible(page, where);
  }
  const line = `${methods.get(page)} ${new URL(page.url()).pathname}\n`;
  appendFileSync(join(process.env.DASHBOARD_EXAMINED, String(process.pid)), line);
}

async function show(page, size, colorScheme) {
  await page.setViewportSize(size);
  await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
}

/** One heading, a title, nothing too wide, nothing on top of another thing. */
export async function fits(page, where) {
  const seen = await page.evaluate(layout);
  assert.equal(seen.headings, 1, `${where} has one h1`);
  assert.match(seen.title, /. · Shardwright$|^Report of ./, `${where} has a title`);
  assert.ok(seen.wide <= 0, `${where} is ${seen.wide} pixels too wide`);
  assert.deepEqual(seen.overlaps, [], `${where}: things overlap`);
  assert.deepEqual(seen.outside, [], `${where}: parts of a picture are beside it`);
}

// Runs in the page. Parts of the page, controls, marks and cells stand beside each other, never on each other.
function layout() {
  const name = (element) => `${element.localName}${element.id && "#" + element.id} "${element.textContent.trim().slice(0, 30)}"`;
  const box = (element) => element.getBoundingClientRect();
  const shown = (element) => element.checkVisibility({ visibilityProperty: true }) && box(element).width > 1;
  // What lies behind an open dialog, or behind the bar at the bottom of a plan, is covered by it.
  const page = document.querySelector("dialog[open]") ?? document;
  const groups = [
    [...page.querySelectorAll("main > *")],
    [...page.querySelectorAll(".top > *")],
    [...page.querySelectorAll("a, button, input, .mark, summary, select")]
      .filter((element) => !element.parentElement.closest("a, button, .mark, summary, svg, .top, .confirm-bar")),
    ...[...page.querySelectorAll("tbody tr")].map((row) => [...row.children]),
  ];
  const overlaps = [];
  for (const group of groups) {
    // A link that goes over two lines has two boxes.
    const boxes = group.filter(shown).flatMap((element) => [...element.getClientRects()].map((box) => [element, box]));
    boxes.forEach(([one, a], index) => {
      for (const [other, b] of boxes.slice(index + 1)) {
        const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        if (across > 1 && down > 1 && !one.contains(other)) overlaps.push(`${name(one)} and ${name(other)}`);
      }
    });
  }
  const outside = [];
  for (const part of [...page.querySelectorAll("svg > rect, svg > a > rect")].filter(shown)) {
    const [inner, outer] = [box(part), box(part.ownerSVGElement)];
    if (inner.left < outer.left - 8 || inner.right > outer.right + 8) outside.push(part.getAttribute("class"));
  }
  return {
    headings: document.querySelectorAll("h1").length,
    title: document.title,
    wide: document.documentElement.scrollWidth - innerWidth,
    overlaps,
    outside,
  };
}
