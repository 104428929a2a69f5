// News replace parts of a page while a person uses them: the focus, what was typed and a press that began stay.
import assert from "node:assert/strict";
import { before, beforeEach, test } from "node:test";
import { withKeyboard, withMouse, tabTo } from "./alone.mjs";
import { stage, visit } from "./harness.mjs";

const shown = (name) => stage.states.find((state) => state.name === name);
const MIGRATION = shown("migration: flipped").url + "/migrations/m1";
let page;

before(async () => { page = await visit(); });

beforeEach(async () => {
  await page.goto(MIGRATION);
  // Only the news of the test come.
  await page.evaluate(() => dispatchEvent(new Event("pagehide")));
});

/** News about the part of the page with this id; each of `changes` is a text or pattern and what takes its place. */
const news = (id, ...changes) => page.evaluate(([id, changes]) => {
  const html = changes.reduce((html, [from, to]) => html.replaceAll(from, to), document.getElementById(id).outerHTML);
  replaceElement(html.replace(">", " data-news='yes'>"));
}, [id, changes]);

const isReplaced = (id) => page.locator(`#${id}[data-news]`).count().then((count) => count === 1);
const focus = () => page.evaluate(() => document.activeElement.id || document.activeElement.getAttribute("href"));

test("what has the focus keeps it: by its id, by its label, or its part takes it", async () => {
  await tabTo(page, "#do-rollback");
  await news("orders");
  assert.ok(await isReplaced("orders"));
  assert.equal(await focus(), "do-rollback");
  await news("orders", ["do-rollback", "do-something"]);
  assert.equal(await focus(), "do-something", "the same words at the same place");
  await news("orders", [">Roll back…<", ">Do something else…<"], ["do-something", "do-else"]);
  assert.equal(await focus(), "orders");
  await news("orders");
  assert.equal(await focus(), "orders", "and again");
  await tabTo(page, "#do-finish");
  await page.goto(MIGRATION);
  await tabTo(page, "#head .crumbs a");
  await news("head", ["Migrations", "Migrations"], ["<h1>", "<h1>News: "]);
  assert.equal(await focus(), "/migrations");
});

test("what is typed and chosen stays, and its part is replaced when the field is left", async () => {
  await page.goto(`${shown("map: piece").url}/maps/tenants?by=rows&piece=1`);
  await page.fill("#split-at", "123");
  await page.selectOption("#split-side", "lower");
  await page.focus("#split-at");
  await news("piece");
  assert.equal(await isReplaced("piece"), false, "a field of it has the focus");
  await page.focus("#theme-choice");
  await page.locator("#piece[data-news]").waitFor();
  assert.equal(await page.inputValue("#split-at"), "123");
  assert.equal(await page.inputValue("#split-side"), "lower");
});

test("a press that began before news is not lost", async () => {
  await page.locator("#do-finish").hover();
  await page.mouse.down();
  await news("orders", ["<p>", "<p>News: "]);
  assert.equal(await isReplaced("orders"), false);
  await page.mouse.up();
  await page.locator("#ask-finish[open]").waitFor();
  assert.equal(await isReplaced("orders"), false, "nor is it while a dialog is open");
  await page.keyboard.press("Escape");
  await page.locator("#orders[data-news]").waitFor();
  await tabTo(page, "#head .crumbs a");
  await page.keyboard.down("Space");
  await news("head");
  assert.equal(await isReplaced("head"), false);
  await page.keyboard.up("Space");
  await page.locator("#head[data-news]").waitFor();
});

test("a person with one device has no other, and the page notices what comes from it", async () => {
  const [mouse, keyboard] = [await withMouse(), await withKeyboard()];
  for (const person of [mouse, keyboard]) await person.open(MIGRATION);
  for (const act of [
    () => mouse.page.keyboard, () => mouse.page.fill("#x", ""), () => mouse.page.press("#x", "a"), () => mouse.page.focus("#x"),
    () => mouse.page.locator("#x").fill(""), () => mouse.page.locator("#x").first().press("a"), () => mouse.page.evaluate("1"),
    () => keyboard.page.mouse, () => keyboard.page.click("#x"), () => keyboard.page.focus("#x"), () => keyboard.page.fill("#x", ""),
    () => keyboard.page.locator("#x").click(), () => keyboard.page.locator("#x").filter({}).focus(),
    () => keyboard.page.keyboard.insertText("x"), () => keyboard.page.context(), () => keyboard.page.goto("x"),
  ]) assert.throws(act, /alone has no/, String(act));
  assert.throws(() => mouse.wasAlone(), /the mouse was used/);
  await mouse.page.click("h1");
  await keyboard.press("Tab");
  assert.ok(mouse.wasAlone() && keyboard.wasAlone());
  await mouse.page.locator("h1").click();
  await mouse.raw.keyboard.press("Tab");
  await keyboard.raw.click("h1");
  assert.throws(() => mouse.wasAlone(), /the mouse was alone/);
  assert.throws(() => keyboard.wasAlone(), /the keyboard was alone/);
  for (const person of [mouse, keyboard]) await person.leave();
});

test("a stop that is not seen, is covered, or is not there is noticed", async () => {
  const page = await visit();
  const control = "<button id=one>One</button><button id=two>Two</button>";
  for (const [html, problem] of [
    [control, undefined],
    [`${control}<style>#two:focus { outline: none }</style>`, /#two.*has no outline/s],
    [`${control}<p style="position: fixed; inset: 0; margin: 0">`, /#one.*is covered by p/s],
    [`${control}<style>#two { position: fixed; left: -99px }</style>`, /#two.*is outside the window/s],
    ["<button id=one>One</button>", /#two is not reached/],
    [`${control}<script>document.getElementById("one").onkeydown = (event) => event.preventDefault()</script>`, /#two is not reached/],
  ]) {
    await page.setContent(`<html lang=en><body>${html}`);
    if (problem) await assert.rejects(tabTo(page, "#two"), problem, html);
    else assert.equal(await tabTo(page, "#two"), 2);
  }
  await page.context().close();
});
