// The age of times, the keyboard, and the menus of all pages. It is loaded before the script that updates the page.
"use strict";

const AGE_UNITS = [[86_400, "d"], [3_600, "h"], [60, "min"], [1, "s"]];

/** Describes a time relative to now: "12 s ago", "3 min ago", "in 2 d". */
function ageText(at, now = Date.now()) {
  const seconds = Math.round((now - at) / 1000);
  const size = Math.abs(seconds);
  if (size < 5) return "just now";
  const [unit, name] = AGE_UNITS.find(([unit]) => size >= unit);
  const age = `${Math.floor(size / unit)} ${name}`;
  return seconds < 0 ? `in ${age}` : `${age} ago`;
}

/** Shows the ages of all times below `root`. The absolute time stays in the title of each. */
function showAges(root) {
  for (const time of root.querySelectorAll("time.ago")) {
    const at = Date.parse(time.dateTime);
    const text = Number.isNaN(at) ? time.textContent : ageText(at);
    if (time.textContent !== text) time.textContent = text;
  }
}

showAges(document);
setInterval(() => showAges(document), 1000);

const GO = { o: "/", s: "/shards", m: "/maps", i: "/migrations", a: "/activity" };
let wentAt = 0;

const isTyping = (element) => element?.closest?.("input, textarea, select, [contenteditable], dialog[open]");

function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
  const isSecond = Date.now() - wentAt < 1500;
  wentAt = 0;
  if (isSecond && GO[event.key]) {
    location.assign(GO[event.key]);
  } else if (event.key === "g") {
    wentAt = Date.now();
    return;
  } else if (event.key === "n") {
    document.getElementById("new")?.click();
  } else if (event.key === "?") {
    document.getElementById("keyboard")?.showModal();
  } else if (event.key === "/") {
    const search = document.querySelector("main input[type=search]");
    if (!search) return;
    search.focus();
  } else {
    return;
  }
  event.preventDefault();
}

addEventListener("keydown", pressed);

// The menu of settings closes by Escape and by a click beside it.
const settings = document.querySelector("details.settings");
addEventListener("click", (event) => {
  if (settings?.open && !settings.contains(event.target)) settings.open = false;
});
addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || !settings?.open) return;
  settings.open = false;
  settings.querySelector("summary").focus();
});

document.getElementById("keyboard-offer")?.removeAttribute("hidden");
