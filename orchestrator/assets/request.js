// The form of a new migration: the form and the YAML stay in sync while either is changed, and what the request would
// do is shown beside them. Without this script, a form that is sent does the same.
"use strict";

function prepareRequest() {
  const form = document.getElementById("request-form");
  if (!form) return;
  const text = document.getElementById("request");
  const box = document.getElementById("text");
  const sides = { form: document.getElementById("as-form"), yaml: document.getElementById("as-yaml") };
  const fields = () => document.getElementById("fields");
  let side = form.dataset.side;
  let timer, lastNumber = 0, pending = Promise.resolve();

  function showSide(next) {
    side = form.dataset.side = next;
    fields().hidden = fields().disabled = next !== "form";
    box.hidden = next === "form";
    text.required = next !== "form";
    for (const [name, button] of Object.entries(sides)) button.setAttribute("aria-pressed", String(name === next));
  }

  // The answer has the check, the preview, and the side that was not edited.
  function take(html) {
    const template = document.createElement("template");
    template.innerHTML = html;
    const answer = template.content;
    for (const id of ["check", "preview"]) replaceElement(answer.getElementById(id)?.outerHTML ?? "");
    const newText = answer.getElementById("request");
    if (newText) text.value = newText.value;
    const newFields = answer.getElementById("fields");
    if (newFields && side === "yaml") fields().replaceWith(newFields);
    if (side === "yaml") sides.form.disabled = !newFields;
  }

  // The text of an answer; empty if there is none, or only a part of one; undefined if the same can be sent later.
  async function answerOf(path, body) {
    try {
      const answer = await fetch(path, { method: "POST", body });
      if (answer.status === 429) return undefined;
      return answer.ok ? await answer.text() : "";
    } catch {
      return "";
    }
  }

  async function check() {
    const number = ++lastNumber;
    const body = new URLSearchParams(new FormData(form));
    const html = await answerOf("/migrations/check", body);
    if (!html || number !== lastNumber) return;
    take(html);
    estimateLater();
  }

  // The plan of what is typed: once the typing rests, and one at a time, because agents survey the shards for it. If
  // several other tabs wait for theirs, the controller refuses this one.
  const REST = 700, BUSY = 3000;
  const isComplete = () => {
    const check = document.getElementById("check");
    return check.textContent.trim() !== "" && !check.querySelector(".wrong");
  };
  const estimated = () => document.getElementById("estimate");
  let estimateTimer, isEstimating = false;
  function estimateLater(pause = REST) {
    clearTimeout(estimateTimer);
    estimated().classList.add("outdated");
    if (!isComplete()) estimated().hidden = true;
    else if (!isEstimating) estimateTimer = setTimeout(estimate, pause);
  }

  async function estimate() {
    const number = lastNumber;
    isEstimating = true;
    if (estimated().hidden) {
      estimated().hidden = false;
      estimated().innerHTML = "<p class='calm'>Agents survey the shards for the plan…</p>";
    }
    const body = new URLSearchParams(new FormData(form));
    const html = await answerOf("/migrations/estimate", body);
    isEstimating = false;
    if (number !== lastNumber) estimateLater();
    else if (html === undefined) estimateLater(BUSY);
    else if (html) replaceElement(html);
    else estimated().hidden = true;
  }

  form.addEventListener("input", () => {
    clearTimeout(timer);
    // What is shown or under way is about an earlier request from now on.
    lastNumber += 1;
    estimated().classList.add("outdated");
    timer = setTimeout(() => { timer = undefined; pending = check(); }, 300);
  });
  // Another way to split has other fields.
  form.addEventListener("change", async (event) => {
    if (event.target.id !== "f-even") return;
    clearTimeout(timer);
    await check();
    showSide("yaml");
    await check();
    showSide("form");
    document.getElementById("f-even").focus();
  });
  for (const [name, button] of Object.entries(sides)) {
    button.addEventListener("click", async (event) => {
      event.preventDefault();
      // Enter in a field clicks the first button of the form; what it means is the plan.
      if (event.detail === 0 && document.activeElement !== button) return form.requestSubmit(document.getElementById("make"));
      if (name === side) return;
      if (timer !== undefined) {
        clearTimeout(timer);
        timer = undefined;
        pending = check();
      }
      await pending;
      showSide(name);
    });
  }
  if (isComplete() && !document.getElementById("plan")) estimateLater();
  fillInAtOnce(document.getElementById("choose"), document.getElementById("map"));
}

// A choice by the mouse fills in the form at once. By the keyboard each key is a choice, so that the button or Enter ends
// it.
function fillInAtOnce(...selects) {
  const button = document.getElementById("example");
  button.hidden = true;
  let byKey = false;
  addEventListener("keydown", () => { byKey = true; }, true);
  addEventListener("pointerdown", () => { byKey = false; }, true);
  for (const select of selects) {
    select?.addEventListener("change", () => {
      if (byKey) button.hidden = false;
      else select.form.requestSubmit();
    });
  }
}

// Copies the text of an element.
function offerCopies() {
  for (const button of document.querySelectorAll("[data-copy]")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
      button.textContent = "Copied";
    });
  }
}

prepareRequest();
offerCopies();
