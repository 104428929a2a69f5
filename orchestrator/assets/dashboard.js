// Updates a page, and asks for confirmation before dangerous commands. Every page also works without this script.
//
// A server-sent event contains an element with an id; it replaces the element with this id on the page.
// A replacement keeps the focus, open details and what was typed. While a dialog is open or a field has the focus, their
// element is replaced only after that.
"use strict";

const badge = document.getElementById("live");
const delayed = new Map();

function showState(state, text) {
  if (badge.dataset.state === state) return;
  badge.dataset.state = state;
  badge.textContent = text;
}

function keepDetailsOpen(old, fresh) {
  for (const details of old.querySelectorAll("details[id][open]")) {
    fresh.querySelector("#" + CSS.escape(details.id))?.setAttribute("open", "");
  }
}

// What a person uses at this moment must not be replaced: an open dialog, a field, a piece or a boundary of a map.
const IN_USE = "dialog[open], input:focus, select:focus, textarea:focus, .map-cut:focus, .map-piece:focus, .map-cut.dragged, .map-piece.dragged";

// A button that is replaced between the press and the release would not act.
let held = null;
const hold = (event) => { held = event.target; };
const release = () => {
  held = null;
  setTimeout(replaceDelayed);
};
for (const type of ["pointerdown", "keydown"]) addEventListener(type, hold, true);
for (const type of ["pointerup", "pointercancel", "keyup", "blur"]) addEventListener(type, release, type !== "blur");

// Keeps what was typed or chosen and not sent yet.
function keepInputs(old, fresh) {
  for (const field of old.querySelectorAll("input[id], select[id], textarea[id]")) {
    const next = fresh.querySelector("#" + CSS.escape(field.id));
    if (!next) continue;
    if (field.localName === "select") {
      if ([...field.options].some((option) => option.selected !== option.defaultSelected)) next.value = field.value;
    } else if (field.type === "checkbox") {
      if (field.checked !== field.defaultChecked) next.checked = field.checked;
    } else if (field.value !== field.defaultValue) {
      next.value = field.value;
    }
  }
}

const FOCUSABLE = "a[href], button, summary, [tabindex]";
const sameLabel = (one, other) => one.localName === other.localName
  && one.getAttribute("href") === other.getAttribute("href") && one.textContent.trim() === other.textContent.trim();

// Finds what took the place of the element that had the focus: the one with its id, or its label. If there is none, the
// fragment itself has the focus, and the next stop is the first one in it.
function successor(focused, old, fresh) {
  if (focused.id && focused !== old) {
    const same = document.getElementById(focused.id);
    if (same) return same;
  }
  const alike = (root) => [...root.querySelectorAll(FOCUSABLE)].filter((each) => sameLabel(each, focused));
  const after = alike(fresh);
  const same = after[alike(old).indexOf(focused)] ?? after[0];
  if (!same) fresh.tabIndex = -1;
  return same ?? fresh;
}

function replaceElement(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  showAges(template.content);
  const fresh = template.content.firstElementChild;
  const old = fresh && document.getElementById(fresh.id);
  if (!old) return;
  if (old.querySelector(IN_USE) || old.contains(held)) {
    delayed.set(fresh.id, html);
    return;
  }
  keepDetailsOpen(old, fresh);
  if (old.isEqualNode(fresh)) return;
  keepInputs(old, fresh);
  const focused = old.contains(document.activeElement) ? document.activeElement : null;
  const scrolled = [...old.querySelectorAll(".scroll")].map((box) => box.scrollLeft);
  old.replaceWith(fresh);
  fresh.querySelectorAll(".scroll").forEach((box, index) => { box.scrollLeft = scrolled[index] ?? 0; });
  if (focused) successor(focused, old, fresh).focus({ preventScroll: true });
}

function listen() {
  const source = new EventSource(badge.dataset.url);
  source.addEventListener("open", () => showState("live", "live"));
  source.addEventListener("fragment", (event) => replaceElement(event.data));
  source.addEventListener("error", () => {
    if (source.readyState === EventSource.CLOSED) {
      showState("off", "connection closed: reload the page");
    } else {
      const now = new Date().toISOString().slice(11, 19);
      showState("lost", `reconnecting, stale since ${now} UTC`);
    }
  });
  // A page in the back-forward cache must not keep a connection: browsers permit only a few per server.
  addEventListener("pagehide", () => source.close(), { once: true });
  addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
}

// The link of a dangerous command leads to the confirmation page. With this script it opens a dialog instead.
document.addEventListener("click", (event) => {
  const opener = event.target.closest("[data-dialog]");
  const dialog = opener && document.getElementById(opener.dataset.dialog);
  if (dialog) {
    event.preventDefault();
    dialog.showModal();
    return;
  }
  const closer = event.target.closest("dialog [data-close]");
  if (closer) {
    event.preventDefault();
    closer.closest("dialog").close();
  }
});

// Who has only a mouse cannot type the id that a dangerous command asks for.
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-fill]");
  const field = button && document.getElementById(button.dataset.fill);
  if (field) field.value = button.value;
});

function replaceDelayed() {
  const waiting = [...delayed.values()];
  delayed.clear();
  waiting.forEach(replaceElement);
}

document.addEventListener("close", (event) => {
  if (event.target instanceof HTMLDialogElement) replaceDelayed();
}, true);
document.addEventListener("focusout", () => setTimeout(replaceDelayed));

// A form can be sent only once. Its button then shows what the browser waits for.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.method !== "post") return;
  for (const button of form.querySelectorAll("button")) {
    button.disabled = true;
    if (form.dataset.busy) button.textContent = form.dataset.busy;
  }
});

// If the request is malformed, selects the place of the error.
function selectErrorPlace() {
  const problem = document.getElementById("problem");
  const text = document.getElementById("request");
  const line = Number(problem?.dataset.line);
  if (!text || !line) return;
  const lines = text.value.split("\n");
  const start = lines.slice(0, line - 1).reduce((sum, each) => sum + each.length + 1, 0);
  const column = Math.max(1, Number(problem.dataset.column) || 1);
  const at = Math.min(start + column - 1, text.value.length);
  text.focus({ preventScroll: true });
  text.setSelectionRange(at, start + (lines[line - 1] ?? "").length);
}

// Shows for how long the current attempt has run.
function updateAttemptTimes() {
  for (const counter of document.querySelectorAll("[data-since]")) {
    const ms = Math.max(0, Date.now() - Date.parse(counter.dataset.since));
    counter.textContent = `, for ${ms.toLocaleString("en")} ms`;
  }
}

// The theme is stored only in this browser.
function offerThemes() {
  const choice = document.getElementById("theme-choice");
  if (!choice) return;
  document.getElementById("theme").hidden = false;
  choice.value = theme();
  choice.addEventListener("change", () => {
    try { localStorage.setItem(THEME, choice.value); } catch { /* then the choice applies to this page only */ }
    applyTheme(choice.value);
  });
}

if (badge) listen();
selectErrorPlace();
offerThemes();
if (document.querySelector("#switch")) setInterval(updateAttemptTimes, 50);
