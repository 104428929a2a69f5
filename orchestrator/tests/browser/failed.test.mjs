// A migration that fails because the target's password was changed says so, keeps its state, and is resumed.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { cutOver, live, look, send, split, stage, state, step, submit, visit } from "./harness.mjs";

test("a failure is told with its remedy, mended and resumed", async () => {
  const right = readFileSync(stage.passwords.accounts, "utf8");
  const page = await visit();
  await submit(page, stage.url, split("accounts", { options: "throttle: { rate_bytes_s: 500000 }" }));
  await live(page);
  await step(page, "copy", "running");
  // Sessions that are open stay open: the password is asked for when the migration goes on.
  await send(page, "#do-pause");
  await state(page, "paused");
  writeFileSync(stage.passwords.accounts, "another");
  await send(page, "#do-resume");
  await state(page, "failed");
  const notice = page.locator("#head .notice.bad");
  await notice.filter({ hasText: "accounts-b" }).waitFor();
  assert.match(await notice.locator("code").textContent(), /^connect/);
  assert.match(await notice.locator(".hint").textContent(), /password/);
  assert.ok(!(await page.content()).includes(right.trim()), "no page has a password");
  await look(page, "migration-failed");

  const overview = await visit();
  await overview.goto(stage.url);
  await overview.locator("#attention li", { hasText: "accounts-b" }).locator(".hint").waitFor();
  await overview.context().close();

  writeFileSync(stage.passwords.accounts, right);
  await send(page, "#do-resume");
  await step(page, "copy", "done");
  await cutOver(page);
});
