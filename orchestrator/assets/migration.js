// The page of a migration: shows one of its parts at a time, and the running attempt of a cutover.
"use strict";

const PARTS = ["tables", "course", "events", "plan", "evidence"];

// Shows the part that the address names. The choice is an attribute of the main element, which news do not replace.
function showPart(name) {
  const main = document.getElementById("main");
  if (!document.getElementById("tabs")) return;
  main.dataset.part = PARTS.includes(name) ? name : main.dataset.part || PARTS[0];
  for (const link of document.querySelectorAll("#tabs a")) {
    const isShown = link.hash === "#" + main.dataset.part;
    if (isShown) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
  if (main.dataset.part === "plan") document.getElementById("plan-text")?.setAttribute("open", "");
}

function showPartOfAddress() {
  showPart(location.hash.slice(1));
}

// A tab changes what is shown without moving the page.
document.addEventListener("click", (event) => {
  const tab = event.target.closest("#tabs a");
  if (!tab || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  history.replaceState(null, "", tab.hash);
  showPartOfAddress();
});

// The bar of the running attempt: the time since its fence as a part of its budget.
function growAttempt() {
  for (const bar of document.querySelectorAll("[data-strip-since]")) {
    const ms = Math.max(0, Date.now() - Date.parse(bar.dataset.stripSince));
    bar.setAttribute("width", Math.min(100, (ms * 100) / Number(bar.dataset.budget)) + "%");
  }
}

addEventListener("hashchange", showPartOfAddress);
showPartOfAddress();
if (document.getElementById("tabs")) {
  // News may replace the tabs by those of the server, which knows no choice.
  new MutationObserver(() => showPart("")).observe(document.getElementById("main"), { childList: true });
}
if (document.getElementById("switch")) setInterval(growAttempt, 50);
