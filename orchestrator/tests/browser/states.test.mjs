// Every state that the API can show, on each of its pages: both widths in both themes, layout and accessibility.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { examine, refused, stage, visit } from "./harness.mjs";

let page;

before(async () => { page = await visit(); });

for (const { name, url, paths, words, refused: status } of stage.states) {
  test(name, async () => {
    for (const path of paths) {
      const go = () => page.goto(url + path);
      await (status ? refused(page, status, go) : go());
      assert.equal(page.url(), url + path, "it is this page that is examined");
      const text = (await page.locator("main").innerText()).replace(/\s+/g, " ");
      for (const word of words) assert.ok(text.includes(word), `${path} says ${word}: ${text}`);
      await examine(page, `${name}, ${path}`);
    }
  });
}
