// Who may do what, in the browser: signing in and out, a viewer's pages, a form of another session.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { confirmWrong, examine, live, look, post, refused, split, stage, state, submit, visit } from "./harness.mjs";

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
  await examine(page, "a sign-in with a wrong token");
  await page.context().close();
});

test("an operator is led to where he wanted to go, and runs a migration", async () => {
  const page = await visit();
  await page.goto(`${url}/migrations/new`);
  await signIn(page, "oleg");
  await page.locator("h1", { hasText: "New migration" }).waitFor();
  await page.locator(".who", { hasText: "oleg, operator" }).waitFor();
  migration = await submit(page, url, split("members"));
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
  await page.locator("#orders", { hasText: "Your role does not allow" }).waitFor();
  await look(page, "migration-of-a-viewer");
  for (const path of [`/migrations/${migration}`, "/", "/maps/members"]) {
    await page.goto(url + path);
    assert.equal(await page.locator("main form[method=post], main [id^=do-], a[href^='/migrations/new']").count(), 0, path);
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
  // With news the page would get the form of the next session.
  await page.evaluate(() => dispatchEvent(new Event("pagehide")));
  const other = await page.context().newPage();
  await other.goto(url);
  await other.click("#sign-out");
  await other.locator("#token").waitFor();
  await signIn(other, "pia");
  await other.locator(".who", { hasText: "pia" }).waitFor();
  // The page has the form of the session before.
  await refused(page, 403, () => page.click("#do-pause"));
  await page.locator("h1").waitFor();
  await other.goto(`${url}/migrations/${migration}`);
  await state(other, "waiting");
  const audit = await (await fetch(`${url}/api/v1/audit`, { headers: { authorization: `Bearer ${admin}` } })).json();
  assert.ok(audit.some(({ actor, data }) => actor === "pia" && data.outcome === "form.stale"), "it is in the trail");
  await page.context().close();
});

test("an admin makes a token, which is shown once, and takes it back", async () => {
  const page = await visit();
  await page.goto(`${url}/tokens`);
  await page.fill("#token", admin);
  await page.click("#sign-in");
  await page.fill("#name", "nora");
  await page.selectOption("#role", "viewer");
  await page.fill("#days", "7");
  await page.click("#create-token");
  const secret = (await page.locator("#secret").textContent()).trim();
  await look(page, "token-made");
  await page.goto(`${url}/tokens`);
  await page.locator("tr", { hasText: "nora", has: page.locator(".mark", { hasText: "good" }) }).waitFor();
  assert.ok(!(await page.content()).includes(secret), "it is shown once");

  tokens.nora = secret;
  const other = await visit();
  await other.goto(url);
  await signIn(other, "nora");
  await other.locator(".who", { hasText: "nora, viewer" }).waitFor();
  assert.equal(await other.locator("nav a[href='/tokens']").count(), 0);
  await refused(other, 403, () => other.goto(`${url}/tokens`));

  await confirmWrong(page, `${url}/tokens/nora/revoke`);
  await page.goto(`${url}/tokens`);
  await page.click("#revoke-nora");
  await page.fill("#confirm-revoke", "nora");
  await page.fill("#reason-revoke", "she has left");
  await page.click("main form .buttons button");
  await page.locator("tr", { hasText: "nora", has: page.locator(".mark", { hasText: "revoked" }) }).waitFor();
  await page.click("nav a[href='/activity']");
  await page.locator("#trail tr", { hasText: "token.revoked", has: page.locator("td", { hasText: "she has left" }) }).waitFor();
  await page.context().close();
  await other.context().close();
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
