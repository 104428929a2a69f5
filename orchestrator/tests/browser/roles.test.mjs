// Who may do what, in the browser: signing in and out, a viewer's pages, a form of another session.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { live, look, post, refused, split, stage, state, submit, visit } from "./harness.mjs";

const { url, admin } = stage.locked;
const tokens = {};
let migration;

before(async () => {
  for (const [name, role] of [["vera", "viewer"], ["oleg", "operator"], ["pia", "approver"]]) {
    const made = await post(url, "/api/v1/tokens", { name, role, labels: {} }, { token: admin, status: 201 });
    tokens[name] = made.token;
  }
});

async function signIn(page, name) {
  await page.fill("#token", tokens[name]);
  await page.click("#sign-in");
}

test("who is not signed in sees the sign-in and nothing else", async () => {
  const page = await visit();
  await page.goto(`${url}/migrations/new`);
  await page.locator("h1", { hasText: "Sign in" }).waitFor();
  await look(page, "sign-in");
  await page.fill("#token", "nonsense");
  await refused(page, 401, () => page.click("#sign-in"));
  await page.locator("[role=alert]").waitFor();
  await page.context().close();
});

test("an operator is led to where he wanted to go, and runs a migration", async () => {
  const page = await visit();
  await page.goto(`${url}/migrations/new`);
  await signIn(page, "oleg");
  await page.locator("h1", { hasText: "New migration" }).waitFor();
  await page.locator(".who", { hasText: "oleg, operator" }).waitFor();
  migration = await submit(page, url, split("locked"));
  await live(page);
  await state(page, "waiting");
  assert.equal(await page.locator("#do-approve").count(), 0, "the cutover is not his to approve");
  assert.equal(await page.locator("#do-pause").count(), 1);
  await page.context().close();
});

test("a viewer sees everything and can order nothing", async () => {
  const page = await visit();
  await page.goto(`${url}/migrations/${migration}`);
  await signIn(page, "vera");
  await live(page);
  await state(page, "waiting");
  await page.locator("#orders", { hasText: "not yours to order" }).waitFor();
  await look(page, "migration-of-a-viewer");
  for (const path of [`/migrations/${migration}`, "/", "/maps/locked"]) {
    await page.goto(url + path);
    assert.equal(await page.locator("main form, main [id^=do-], a[href^='/migrations/new']").count(), 0, path);
  }
  await refused(page, 403, () => page.goto(`${url}/migrations/new`));
  await refused(page, 403, () => page.goto(`${url}/migrations/${migration}/abort`));
  await page.context().close();
});

test("a form of a session that has ended is refused", async () => {
  const page = await visit();
  await page.goto(`${url}/migrations/${migration}`);
  await signIn(page, "pia");
  await page.locator("#do-pause").waitFor();
  const other = await page.context().newPage();
  await other.goto(url);
  await other.click("#sign-out");
  await other.locator("#token").waitFor();
  await signIn(other, "pia");
  await other.locator(".who", { hasText: "pia" }).waitFor();
  // The page keeps the form of the session before.
  await refused(page, 403, () => page.click("#do-pause"));
  await page.locator("h1").waitFor();
  await other.goto(`${url}/migrations/${migration}`);
  await state(other, "waiting");
  const audit = await (await fetch(`${url}/api/v1/audit`, { headers: { authorization: `Bearer ${admin}` } })).json();
  assert.ok(audit.some(({ actor, data }) => actor === "pia" && data.outcome === "form.stale"), "it is in the trail");
  await page.context().close();
});

test("who signs out is a stranger again", async () => {
  const page = await visit();
  await page.goto(url);
  await signIn(page, "vera");
  await page.locator(".who", { hasText: "vera, viewer" }).waitFor();
  await page.click("#sign-out");
  await page.locator("#token").waitFor();
  await page.goto(`${url}/migrations/${migration}`);
  await page.locator("#token").waitFor();
  await page.context().close();
});
