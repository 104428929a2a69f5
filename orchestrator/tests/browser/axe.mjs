// What axe finds on a page: of the structure everything, and the contrast of each text.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

const AXE = readFileSync(new URL("node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
/** The grounds of texts that have enough contrast. */
const knownGrounds = new Set();

/** No finding of axe about the page as it is, except about contrast. */
export async function isAccessible(page, where) {
  await bringAxe(page);
  const options = { resultTypes: ["violations"], rules: { "color-contrast": { enabled: false } } };
  const { violations } = await page.evaluate((options) => axe.run(document, options), options);
  findsNothing(violations, where);
}

/** Every text has enough contrast. Those whose colors and elements up to their ground axe knows already are left out. */
export async function hasContrast(page, where) {
  const grounds = await page.evaluate(textGrounds);
  const fresh = grounds.filter((ground) => !knownGrounds.has(ground));
  if (fresh.length === 0) return;
  await bringAxe(page);
  // Only what is still there when axe begins is known afterwards: news may have replaced the rest.
  const script = `(async (fresh) => {
    const marked = (${textGrounds})(fresh);
    if (marked.length === 0) return { marked, violations: [] };
    const options = { resultTypes: ["violations"], runOnly: ["color-contrast"] };
    const { violations } = await axe.run("[data-fresh-ground]", options);
    return { marked, violations };
  })(${JSON.stringify(fresh)})`;
  const { marked, violations } = await page.evaluate(script);
  findsNothing(violations, where);
  marked.forEach((ground) => knownGrounds.add(ground));
}

// What is evaluated is no script of the page's.
async function bringAxe(page) {
  if (!(await page.evaluate("typeof axe === 'object'"))) await page.evaluate(AXE);
}

function findsNothing(violations, where) {
  const told = violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => `${node.target.join(" ")} ${node.html.slice(0, 80)}`).join(", ")}`);
  assert.deepEqual(told, [], `${where}: axe`);
}

// Runs in the page: the way from each text to its ground, with all colors. With `wanted`, only those ways, whose texts are
// marked.
function textGrounds(wanted) {
  const found = new Set();
  const hasText = (element) => element.matches("input, select, textarea")
    || [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
  for (const element of document.body.querySelectorAll("*")) {
    element.removeAttribute("data-fresh-ground");
    if (!element.checkVisibility({ visibilityProperty: true }) || !hasText(element)) continue;
    const { color, fill, fontSize, fontWeight } = getComputedStyle(element);
    const parts = [color, fill, fontSize, fontWeight];
    for (let each = element; each; each = each.parentElement) {
      const { backgroundColor, backgroundImage, opacity } = getComputedStyle(each);
      parts.push(each.localName, each.getAttribute("class"), backgroundColor, backgroundImage, opacity);
    }
    const way = parts.join(" ");
    if (wanted && !wanted.includes(way)) continue;
    found.add(way);
    if (wanted) element.setAttribute("data-fresh-ground", "");
  }
  return [...found];
}
