// Keeps a page fresh and asks before grave commands; every page works without it.
//
// Server-sent events bring whole elements, each with an id; the one on the page is replaced.
// Kept across a replacement: focus, open details, an open dialog (its fragment waits until it closes).
"use strict";

const badge = document.getElementById("live");
const held = new Map();

function tell(state, text) {
  if (badge.dataset.state === state) return;
  badge.dataset.state = state;
  badge.textContent = text;
}

function keepOpen(old, fresh) {
  for (const details of old.querySelectorAll("details[id][open]")) {
    fresh.querySelector("#" + CSS.escape(details.id))?.setAttribute("open", "");
  }
}

function swap(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  const fresh = template.content.firstElementChild;
  const old = fresh && document.getElementById(fresh.id);
  if (!old) return;
  if (old.querySelector("dialog[open]")) {
    held.set(fresh.id, html);
    return;
  }
  keepOpen(old, fresh);
  if (old.isEqualNode(fresh)) return;
  const focused = old.contains(document.activeElement) ? document.activeElement : null;
  const scrolled = [...old.querySelectorAll(".scroll")].map((box) => box.scrollLeft);
  old.replaceWith(fresh);
  fresh.querySelectorAll(".scroll").forEach((box, index) => { box.scrollLeft = scrolled[index] ?? 0; });
  if (focused?.id) document.getElementById(focused.id)?.focus({ preventScroll: true });
}

function listen() {
  const source = new EventSource(badge.dataset.url);
  source.addEventListener("open", () => tell("live", "live"));
  source.addEventListener("fragment", (event) => swap(event.data));
  source.addEventListener("error", () => {
    if (source.readyState === EventSource.CLOSED) {
      tell("off", "gone: reload the page");
    } else {
      const now = new Date().toISOString().slice(11, 19);
      tell("lost", `reconnecting, stale since ${now} UTC`);
    }
  });
  // Without this a page in the back-forward cache would keep one of the few connections.
  addEventListener("pagehide", () => source.close(), { once: true });
  addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
}

// Grave commands: the link to the confirm page opens the dialog instead.
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

document.addEventListener("close", (event) => {
  if (!(event.target instanceof HTMLDialogElement)) return;
  const waiting = [...held.values()];
  held.clear();
  waiting.forEach(swap);
}, true);

// A form that changes something is sent once, and shows what it waits for.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.method !== "post") return;
  for (const button of form.querySelectorAll("button")) {
    button.disabled = true;
    if (form.dataset.busy) button.textContent = form.dataset.busy;
  }
});

// A malformed request: the cursor goes to the place.
function showPlace() {
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

// What is typed is looked at while it is typed: nothing is planned by that.
function checkWhileTyping() {
  const text = document.getElementById("request");
  const check = document.getElementById("check");
  if (!text || !check) return;
  let timer, asked = 0;
  text.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(async () => {
      const number = ++asked;
      const form = new URLSearchParams(new FormData(text.form));
      const answer = await fetch("/migrations/check", { method: "POST", body: form }).catch(() => null);
      if (number !== asked || !answer?.ok) return;
      swap(await answer.text());
    }, 300);
  });
}

// How long an attempt has been under way, and the most that it may take.
function countUp() {
  for (const counter of document.querySelectorAll("[data-since]")) {
    const ms = Math.max(0, Date.now() - Date.parse(counter.dataset.since));
    counter.textContent = `, for ${ms.toLocaleString("en")} ms`;
  }
}

// The theme is kept by this browser alone.
function offerThemes() {
  const choice = document.getElementById("theme-choice");
  if (!choice) return;
  document.getElementById("theme").hidden = false;
  choice.value = theme();
  choice.addEventListener("change", () => {
    try { localStorage.setItem(THEME, choice.value); } catch { /* it holds for this page */ }
    wear(choice.value);
  });
}

if (badge) listen();
showPlace();
checkWhileTyping();
offerThemes();
if (document.querySelector("#switch")) setInterval(countUp, 50);
