// Applies the theme that the user chose, before the page is drawn. The default is the theme of the system.
"use strict";

const THEME = "shardwright-theme";

function theme() {
  try { return localStorage.getItem(THEME) ?? ""; } catch { return ""; }
}

function applyTheme(name) {
  if (name === "light" || name === "dark") document.documentElement.dataset.theme = name;
  else delete document.documentElement.dataset.theme;
}

applyTheme(theme());
