// Every state that the API can show, on each of its pages: both widths in both themes, layout and accessibility.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { NARROW, WIDE, fits, isAccessible, refused, stage, visit } from "./harness.mjs";

// What axe looks for: everything once, and again what is another thing in the other theme and width.
const SIGHTS = [
  [WIDE, "light", undefined],
  [WIDE, "dark", []],
  [NARROW, "light", []],
  [NARROW, "dark", ["color-contrast", "link-in-text-block", "scrollable-region-focusable"]],
];
let page;

before(async () => { page = await visit(); });

for (const { name, url, paths, words, refused: status } of stage.states) {
  test(name, async () => {
    for (const path of paths) {
      const go = () => page.goto(url + path);
      await (status ? refused(page, status, go) : go());
      const text = (await page.locator("main").innerText()).replace(/\s+/g, " ");
      for (const word of words) assert.ok(text.includes(word), `${path} says ${word}: ${text}`);
      for (const [size, colorScheme, rules] of SIGHTS) {
        const where = `${name}, ${path} at ${size.width}, ${colorScheme}`;
        await page.setViewportSize(size);
        await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
        await fits(page, where);
        if (rules?.length !== 0) await isAccessible(page, where, rules);
      }
    }
  });
}
