// Gestures on the picture of a map: a line of text for the piece under the pointer, boundaries that are dragged, and
// pieces that are dropped on a shard. Every gesture leads to the form of a new migration and changes nothing. Links and
// forms of the page do the same without this script.
"use strict";

const SVG = "http://www.w3.org/2000/svg";
// Ends the listeners of a picture that was replaced.
let drops = new AbortController();

// Shows the description of a piece in a line below the picture.
function describePieces(section, tip) {
  const show = (event) => {
    const piece = event.target.closest?.(".map-piece, .map-exception");
    if (piece) tip.textContent = piece.querySelector("title").textContent.split("\n").join(" · ");
  };
  section.addEventListener("pointerover", show);
  section.addEventListener("focusin", show);
}

// The pieces that can be dragged, from left to right.
function draggablePieces(bar) {
  return [...bar.querySelectorAll("a[data-request]")].map((link) => ({
    link,
    shard: link.dataset.shard,
    request: link.dataset.request,
    cuts: JSON.parse(link.dataset.cuts),
    from: Number(link.dataset.x),
    to: Number(link.dataset.x) + Number(link.dataset.width),
  }));
}

const percent = (part) => `${part.toFixed(3)}%`;

function figures(before, sign) {
  if (!before) return "";
  const [rows, bytes, writes] = before.map((each) => Math.abs(each).toLocaleString("en").replaceAll(",", "\u202f"));
  return ` · ${sign} about ${rows} rows, ${bytes} bytes, ${writes} writes counted`;
}

// The boundary between two pieces: it moves through the keys at which either of them can be split.
function boundary(left, right, bar, tip) {
  const rect = left.link.querySelector("rect");
  const top = Number(rect.getAttribute("y")), height = Number(rect.getAttribute("height"));
  const stops = [
    ...left.cuts.map((cut) => ({ ...cut, source: left, target: right, side: "upper" })),
    { at: null, x: left.to },
    ...right.cuts.map((cut) => ({ ...cut, source: right, target: left, side: "lower" })),
  ];
  if (stops.length < 2) return;
  const home = left.cuts.length;
  let place = home;
  const handle = document.createElementNS(SVG, "g");
  handle.setAttribute("class", "map-cut");
  handle.setAttribute("tabindex", "0");
  handle.setAttribute("role", "slider");
  handle.setAttribute("aria-label", `Boundary between ${left.shard} and ${right.shard}`);
  handle.setAttribute("aria-valuemin", "0");
  handle.setAttribute("aria-valuemax", String(stops.length - 1));
  const line = document.createElementNS(SVG, "line");
  const grip = document.createElementNS(SVG, "rect");
  for (const [name, value] of [["y", top], ["height", height], ["width", 12], ["transform", "translate(-6 0)"]]) grip.setAttribute(name, value);
  line.setAttribute("y1", top - 2);
  line.setAttribute("y2", top + height + 2);
  handle.append(grip, line);
  bar.append(handle);

  function move(to) {
    place = Math.max(0, Math.min(stops.length - 1, to));
    const stop = stops[place];
    for (const end of ["x1", "x2"]) line.setAttribute(end, percent(stop.x));
    grip.setAttribute("x", percent(stop.x));
    const text = stop.at === null
      ? `Boundary between ${left.shard} and ${right.shard}: drag it, or press the arrow keys`
      : `Split at ${stop.at}: keys of ${stop.source.shard} ${stop.side === "upper" ? "from there on" : "up to there"} move to ${stop.target.shard}`
        + figures(stop.before, stop.side === "upper" ? `${stop.source.shard} keeps` : `${stop.target.shard} gets`);
    handle.setAttribute("aria-valuenow", String(place));
    handle.setAttribute("aria-valuetext", text);
    if (handle.matches(":hover, :focus, .dragged")) tip.textContent = text;
  }
  function finish() {
    const stop = stops[place];
    if (stop.at === null) return;
    const fields = new URLSearchParams({ at: stop.at, side: stop.side, target: stop.target.shard });
    location.assign(`${stop.source.request}&${fields}`);
  }
  handle.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageUp: 8, PageDown: -8, Home: -stops.length, End: stops.length }[event.key];
    if (step !== undefined) move(place + step);
    else if (event.key === "Enter") finish();
    else if (event.key === "Escape") move(home);
    else return;
    event.preventDefault();
  });
  handle.addEventListener("pointerdown", (event) => {
    handle.setPointerCapture(event.pointerId);
    handle.classList.add("dragged");
    event.preventDefault();
  });
  handle.addEventListener("pointermove", (event) => {
    if (!handle.classList.contains("dragged")) return move(place);
    const box = bar.getBoundingClientRect();
    const x = (event.clientX - box.left) * 100 / box.width;
    const distances = stops.map((stop) => Math.abs(stop.x - x));
    move(distances.indexOf(Math.min(...distances)));
  });
  handle.addEventListener("pointerup", () => {
    if (!handle.classList.contains("dragged")) return;
    handle.classList.remove("dragged");
    finish();
  });
  handle.addEventListener("pointercancel", () => { handle.classList.remove("dragged"); move(home); });
  handle.addEventListener("focus", () => move(place));
  move(home);
}

// A piece that is dropped on a shard of the legend: all of it moves there.
function offerDrops(section, pieces, tip) {
  drops.abort();
  drops = new AbortController();
  const { signal } = drops;
  const entries = [...section.querySelectorAll(".map-legend li[data-shard]")];
  const target = (event, piece) => {
    const entry = document.elementFromPoint(event.clientX, event.clientY)?.closest(".map-legend li[data-shard]");
    return entry?.dataset.shard === piece.shard ? null : entry;
  };
  for (const piece of pieces) {
    let start = null, dragged = false;
    piece.link.addEventListener("dragstart", (event) => event.preventDefault());
    piece.link.addEventListener("pointerdown", (event) => { start = event; dragged = false; });
    addEventListener("pointermove", (event) => {
      if (!start) return;
      dragged ||= Math.hypot(event.clientX - start.clientX, event.clientY - start.clientY) > 8;
      if (!dragged) return;
      piece.link.classList.add("dragged");
      tip.textContent = `Drop the keys of ${piece.shard} on a shard below to move them there`;
      const over = target(event, piece);
      entries.forEach((entry) => entry.classList.toggle("drop-here", entry === over));
    }, { signal });
    addEventListener("pointerup", (event) => {
      const over = start && dragged && target(event, piece);
      start = null;
      piece.link.classList.remove("dragged");
      entries.forEach((entry) => entry.classList.remove("drop-here"));
      if (!over) return;
      const request = new URL(piece.request, location.href);
      request.searchParams.set("operation", "move");
      request.searchParams.set("target", over.dataset.shard);
      location.assign(request);
    }, { signal });
    // A drag that ends on its own piece is no click.
    piece.link.addEventListener("click", (event) => { if (dragged) event.preventDefault(); });
  }
}

// While the pointer is on a shard of the legend, the pieces of other shards are dimmed.
function emphasizeShards(section, bar) {
  const dim = (shard) => {
    for (const piece of bar.querySelectorAll(".map-piece")) {
      piece.classList.toggle("dimmed", shard !== null && piece.dataset.shard !== shard);
    }
  };
  for (const entry of section.querySelectorAll(".map-legend li[data-shard]")) {
    entry.addEventListener("pointerenter", () => dim(entry.dataset.shard));
    entry.addEventListener("pointerleave", () => dim(null));
  }
}

// The left and right arrow keys move between pieces, so that Tab does not have to stop at each one.
function moveByArrows(bar) {
  const links = [...bar.querySelectorAll("a.map-piece")];
  if (links.length < 8) return;
  links.forEach((link, index) => link.setAttribute("tabindex", index === 0 ? "0" : "-1"));
  bar.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const at = links.indexOf(document.activeElement);
    const next = step && links[at + step];
    if (at < 0 || !next) return;
    links[at].setAttribute("tabindex", "-1");
    next.setAttribute("tabindex", "0");
    next.focus();
    event.preventDefault();
  });
}

function showVersionAtOnce() {
  const slider = document.getElementById("version");
  if (!slider) return;
  document.getElementById("show-version").hidden = true;
  slider.addEventListener("input", () => { slider.form.querySelector("output").value = slider.value; });
  slider.addEventListener("change", () => slider.form.requestSubmit());
}

function prepareMap() {
  const section = document.getElementById("ranges");
  const bar = section?.querySelector(".map-bar");
  if (!bar || bar.dataset.prepared) return;
  bar.dataset.prepared = "yes";
  const tip = document.createElement("p");
  tip.className = "map-tip";
  bar.after(tip);
  describePieces(section, tip);
  moveByArrows(bar);
  emphasizeShards(section, bar);
  const pieces = draggablePieces(bar);
  pieces.forEach((left, index) => {
    const right = pieces[index + 1];
    if (right && Math.abs(left.to - right.from) < 0.01) boundary(left, right, bar, tip);
  });
  offerDrops(section, pieces, tip);
  showVersionAtOnce();
}

prepareMap();
// News replace the picture.
new MutationObserver(prepareMap).observe(document.getElementById("main"), { childList: true });
