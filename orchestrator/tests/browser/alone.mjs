// A person who has a mouse or a keyboard, and nothing else: what needs the other device throws, and the page counts the
// events of each device.
//
// The list of a select is drawn by the system, where the mouse of a test does not reach: `selectOption` stands for two
// clicks. An address that is opened stands for a link from elsewhere.
import assert from "node:assert/strict";
import { examine, look, visit } from "./harness.mjs";

const READS = {
  page: ["locator", "url", "waitForEvent", "waitForURL"],
  locator: ["locator", "filter", "first", "nth", "waitFor", "count", "textContent", "innerText", "inputValue", "isVisible", "isChecked"],
};
const MOUSE = {
  page: ["mouse", "click", "selectOption"],
  locator: ["click", "selectOption", "boundingBox"],
  mouse: ["move", "down", "up", "wheel"],
};
const KEYBOARD = { page: ["keyboard"], locator: [], keyboard: ["press", "type", "down", "up"] };
/** The events that each device sends to a page. */
const EVENTS = { mouse: "mousedown", keyboard: "keydown" };
const MOST_STOPS = 60;

/** Gives only what `allowed` lists of a page; what `kind` the target is, decides. */
function only(target, kind, device, allowed) {
  return new Proxy(target, {
    get(_, name) {
      if (name === "then") return undefined;
      const reads = READS[kind] ?? [];
      if (![...reads, ...allowed[kind]].includes(name)) throw new Error(`a person with a ${device} alone has no ${String(name)}`);
      const value = target[name];
      if (typeof value !== "function") return only(value, name, device, allowed);
      return (...options) => {
        const result = value.apply(target, options);
        return typeof result?.waitFor === "function" ? only(result, "locator", device, allowed) : result;
      };
    },
  });
}

async function alone(device, allowed, options) {
  const page = await visit(options);
  const events = { mousedown: 0, keydown: 0 };
  await page.exposeFunction("countDevice", (type) => { events[type] += 1; });
  await page.addInitScript((types) => {
    for (const type of types) addEventListener(type, (event) => event.isTrusted && countDevice(type), true);
  }, Object.keys(events));
  const person = {
    page: only(page, "page", device, allowed),
    /** For tests of this file. */
    raw: page,
    open: (url) => page.goto(url),
    look: (name) => look(page, name),
    examine: (name) => examine(page, name),
    /** The page got events of this device only. */
    wasAlone() {
      const own = EVENTS[device];
      const other = Object.keys(events).find((type) => type !== own);
      assert.ok(events[own] > 0, `the ${device} was used`);
      assert.equal(events[other], 0, `the ${device} was alone`);
      return events[own];
    },
    leave: () => page.context().close(),
  };
  return [person, page];
}

/** A person with a mouse. */
export async function withMouse(options) {
  const [person] = await alone("mouse", MOUSE, options);
  return person;
}

/** A person with a keyboard, who finds everything by Tab. */
export async function withKeyboard(options) {
  const [person, page] = await alone("keyboard", KEYBOARD, options);
  const { keyboard } = person.page;
  return {
    ...person,
    press: (...keys) => keys.reduce((before, key) => before.then(() => keyboard.press(key)), Promise.resolve()),
    type: (text) => keyboard.type(text),
    tabTo: (selector, key) => tabTo(page, selector, key),
    hasFocus: (selector) => page.locator(`${selector}:focus`).waitFor(),
    /** Goes to the control, from the top of the page by the link that skips its head, and uses it; returns the keys. */
    async use(selector, { key = "Enter", fromTop = false } = {}) {
      let keys = 1;
      if (fromTop) {
        keys += await tabTo(page, ".skip") + 1;
        await keyboard.press("Enter");
      }
      keys += await tabTo(page, selector);
      await keyboard.press(key);
      return keys;
    },
  };
}

/** Goes on by Tab until `selector` has the focus; returns the number of stops. Every stop shows that it has the focus. */
export async function tabTo(page, selector, key = "Tab") {
  const passed = [];
  while (passed.length < MOST_STOPS) {
    await page.keyboard.press(key);
    const stop = await page.evaluate(focusStop, selector);
    passed.push(stop.name);
    assert.equal(stop.problem, "", `the focus on ${stop.name}, on the way to ${selector}`);
    if (stop.isThere) return passed.length;
  }
  assert.fail(`${selector} is not reached by ${key}: ${passed.join(" · ")}`);
}

// Runs in the page.
function focusStop(selector) {
  const focused = document.activeElement;
  // Behind its last stop, the page has no focus until the next press.
  if (!focused || focused === document.body) return { name: "the end", problem: "", isThere: false };
  const label = focused.id ? `#${focused.id}` : ` "${focused.textContent.trim().slice(0, 20)}"`;
  return { name: focused.localName + label, problem: problem(), isThere: focused.matches(selector) };

  function problem() {
    const { outlineStyle, outlineWidth } = getComputedStyle(focused);
    if (outlineStyle === "none" || parseFloat(outlineWidth) < 1) return "has no outline";
    const box = [...focused.getClientRects()].find(({ width, height }) => width > 0 && height > 0);
    if (!box) return "has no size";
    const [left, right] = [Math.max(box.left, 0), Math.min(box.right, innerWidth)];
    const [top, bottom] = [Math.max(box.top, 0), Math.min(box.bottom, innerHeight)];
    if (left >= right || top >= bottom) return "is outside the window";
    const above = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
    const isCovered = above && !focused.contains(above) && !above.contains(focused);
    return isCovered ? `is covered by ${above.localName}.${above.className}` : "";
  }
}
