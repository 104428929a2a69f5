// The theme that was chosen, before anything is drawn; none: the system's.
"use strict";

const THEME = "shardwright-theme";

function theme() {
  try { return localStorage.getItem(THEME) ?? ""; } catch { return ""; }
}

function wear(name) {
  if (name === "light" || name === "dark") document.documentElement.dataset.theme = name;
  else delete document.documentElement.dataset.theme;
}

wear(theme());
