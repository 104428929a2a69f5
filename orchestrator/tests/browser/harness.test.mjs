// The harness itself: what a page must not do is noticed.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { once } from "node:events";
import { test } from "node:test";
import { hasContrast, isAccessible } from "./axe.mjs";
import { fits, origins, send, visit } from "./harness.mjs";

const HEAD = "<html lang=en><head><title>It · Shardwright</title></head><body><main><h1>It</h1>";

test("what does not fit a page is noticed", async () => {
  const page = await visit();
  for (const [html, said] of [
    ["", undefined],
    ["<h1>Again</h1>", /one h1/],
    ["<p><svg width=2000 height=9></svg>", /pixels too wide/],
    ["<p><button>One</button><button id=over>Two</button><style>#over { margin-left: -2em }</style>", /overlap/],
    ["<table><tr><td><button>One</button><td>Two</table>", undefined],
  ]) {
    await page.setContent(HEAD + html);
    if (said) await assert.rejects(fits(page, "it"), said, html);
    else await fits(page, "it");
  }
  await page.setContent("<h1>It</h1>");
  await assert.rejects(fits(page, "it"), /has a title/);
  await page.context().close();
});

test("what not everybody can read is noticed", async () => {
  const page = await visit();
  await page.setContent(`${HEAD}<p>It is read.`);
  await isAccessible(page, "it");
  await page.setContent(`${HEAD}<p style="color: #ccc; background: #fff">It is not.`);
  await assert.rejects(hasContrast(page, "it"), /color-contrast: p.*#ccc/);
  await page.setContent(`${HEAD}<p>It is read.<p style="color: #111; background: #fff">It is read.`);
  await hasContrast(page, "it");
  await page.setContent(`${HEAD}<p style="color: #111; background: #fff">It is read.<div style="background: #444"><p style="color: #111">It is not.`);
  await assert.rejects(hasContrast(page, "it"), /color-contrast: p.*#111/);
  await assert.rejects(hasContrast(page, "it"), /color-contrast: p.*#111/, "nor at the second time");
  await page.setContent(`${HEAD}<input>`);
  await assert.rejects(isAccessible(page, "it"), /label/);
  await page.context().close();
});

test("an order is given once its answer is there, not once news tell of it", async () => {
  const server = createServer((request, response) => {
    if (request.method === "POST") setImmediate(() => response.writeHead(303, { location: "/after" }).end());
    else response.setHeader("content-type", "text/html").end(`${HEAD}<p>${request.url}<form method=post><button id=do>Do`);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const url = `http://127.0.0.1:${server.address().port}`;
  origins.add(url);
  const page = await visit();
  await page.goto(`${url}/before`);
  await send(page, "#do");
  assert.equal(await page.locator("p").textContent(), "/after");
  await page.context().close();
  server.close();
  server.closeAllConnections();
});
