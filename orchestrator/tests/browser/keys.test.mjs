// From the overview to a cutover that is approved, by the keyboard alone.
import assert from "node:assert/strict";
import { test } from "node:test";
import { idOf, live, split, stage, state, tabTo, visit } from "./harness.mjs";

test("the mouse is not needed", async () => {
  const page = await visit();
  await page.goto(stage.url);
  await live(page);
  await tabTo(page, "#main, .skip");
  await page.keyboard.press("Enter");
  await tabTo(page, "main a[href^='/migrations/new']");
  await page.keyboard.press("Enter");
  await page.waitForURL(/migrations\/new/);
  await tabTo(page, "#as-yaml");
  await page.keyboard.press("Enter");
  await page.locator("#request").waitFor();
  await tabTo(page, "#request");
  await page.keyboard.press("Control+A");
  await page.keyboard.insertText(split("keys"));
  await tabTo(page, "#make");
  await page.keyboard.press("Enter");
  await page.locator("#apply").waitFor();
  await tabTo(page, "#apply");
  await tabTo(page, "#queue");
  await page.keyboard.press("Space");
  assert.ok(await page.isChecked("#queue"));
  await page.keyboard.press("Shift+Tab");
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/migrations\/m[a-z0-9]+$/);
  await state(page, "waiting");

  await tabTo(page, "#do-abort");
  await page.keyboard.press("Enter");
  await page.locator("#ask-abort[open]").waitFor();
  const inside = await page.evaluate(() => document.activeElement.closest("dialog")?.id);
  assert.equal(inside, "ask-abort", "the focus went into the dialog");
  await page.keyboard.press("Escape");
  await page.locator("#ask-abort").waitFor({ state: "hidden" });
  assert.equal(await page.evaluate(() => document.activeElement.id), "do-abort", "and came back");

  await page.keyboard.press("Control+Home");
  await page.evaluate(() => document.activeElement.blur());
  await tabTo(page, "#do-approve");
  await page.keyboard.press("Enter");
  await page.locator("#ask-approve[open]").waitFor();
  await page.keyboard.type(idOf(page));
  await page.keyboard.press("Enter");
  await state(page, "flipped");
});
