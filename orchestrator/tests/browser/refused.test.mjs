// What cannot be done is refused, and the page says why.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { confirmWrong, idOf, live, look, post, refused, split, stage, state, submit, visit } from "./harness.mjs";

let page;

before(async () => { page = await visit(); });

test("a request that is no YAML is answered with its place, and the cursor is there", async () => {
  await page.goto(`${stage.url}/migrations/new?view=yaml`);
  await page.fill("#request", split("invoices").replace("source:", "  source:"));
  await refused(page, 400, () => page.click("#make"));
  await page.locator("#problem", { hasText: /Line 3, column \d+: no plan was made/ }).waitFor();
  const line = await page.locator("#request").evaluate((area) => area.value.slice(0, area.selectionStart).split("\n").length);
  assert.equal(line, 3);
  assert.match(await page.inputValue("#request"), /map: invoices/);
  await look(page, "request-malformed");
});

test("a request is looked at while it is typed", async () => {
  await page.goto(`${stage.url}/migrations/new?view=yaml`);
  const check = page.locator("#check");
  await page.locator("#request").pressSequentially("operation: split\nmap: nowhere\n");
  await check.locator(".wrong").waitFor();
  await page.fill("#request", split("invoices"));
  await check.filter({ hasText: "It would move [501, ∞) from invoices-a to invoices-b (online)." }).waitFor();
  const estimate = page.locator("#estimate");
  await estimate.locator("p", { hasText: /^Moves about .* rows .* from invoices-a to invoices-b\.$/ }).waitFor();
  await estimate.locator("li", { hasText: "fsync or full_page_writes is off" }).waitFor();
  await page.fill("#request", split("invoices").replace("tenants: id", "tenants: no_such"));
  await estimate.locator("h2", { hasText: "No plan can be made" }).waitFor();
  await page.fill("#request", split("invoices").replace("source:", "  source:"));
  await check.filter({ hasText: /Line 3, column \d+/ }).waitFor();
  await estimate.waitFor({ state: "hidden" });
  await look(page, "request-typed");
});

test("an estimate that is refused, because other tabs wait for theirs, is repeated", async () => {
  await page.goto(`${stage.url}/migrations/new?view=yaml`);
  let refusals = 0;
  await page.route("**/migrations/estimate", (route) => {
    refusals += 1;
    return route.fulfill({ status: 429, body: "four estimates of this caller run or wait already" });
  }, { times: 1 });
  await refused(page, 429, () => page.fill("#request", split("invoices")));
  await page.locator("#estimate h2", { hasText: "The plan" }).waitFor();
  assert.equal(refusals, 1);
});

test("a request that the map does not allow is answered with what is wrong", async () => {
  await page.goto(`${stage.url}/migrations/new?view=yaml`);
  await page.fill("#request", split("invoices").replace("source: invoices-a", "source: nowhere"));
  await refused(page, 422, () => page.click("#make"));
  await page.locator("#problem", { hasText: "nowhere" }).waitFor();
});

test("keys that move already are refused, and the plan stays to be queued", async () => {
  const second = await visit();
  await second.goto(`${stage.url}/migrations/new?view=yaml`);
  await second.fill("#request", split("invoices"));
  await second.click("#make");
  await second.locator("#apply").waitFor();
  await submit(page, stage.url, split("invoices"));
  await refused(second, 409, () => second.click("#apply"));
  const problem = second.locator("#problem", { hasText: "no plan was" });
  await problem.filter({ hasText: idOf(page) }).waitFor();
  await look(second, "request-refused");
  await second.context().close();
});

test("an order that came too late says what the state is", async () => {
  await live(page);
  await state(page, "waiting");
  const late = await visit();
  await late.goto(page.url());
  await late.locator("#do-pause").waitFor();
  // A page without news keeps buttons of a state that has passed.
  await late.context().setOffline(true);
  await post(stage.url, `/api/v1/migrations/${idOf(page)}/abort`, { reason: "test" });
  await state(page, "aborted");
  await late.context().setOffline(false);
  await refused(late, 409, () => late.evaluate(() => {
    const form = document.createElement("form");
    form.method = "post";
    form.action = `${location.pathname}/pause`;
    document.body.append(form);
    form.submit();
  }));
  await late.locator("h1").waitFor();
  assert.match(await late.locator("main").textContent(), /pause is not possible.*unwound/s);
  await late.context().close();
});

test("a grave order with another id is not given", async () => {
  const id = await submit(page, stage.url, split("invoices", { at: 301 }));
  await live(page);
  await page.click("#do-abort");
  const dialog = page.locator("#ask-abort");
  await dialog.waitFor();
  await look(page, "dialog-abort");
  await dialog.locator("input[name=confirm]").fill("something else");
  await dialog.locator(".buttons button").click();
  assert.ok(await dialog.isVisible(), "the browser does not send another id");
  await dialog.locator("[data-close]").click();
  await dialog.waitFor({ state: "hidden" });
  await confirmWrong(page, `${stage.url}/migrations/${id}/abort`);
});
