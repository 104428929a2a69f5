// The news of a page are cut off and come back: nothing is lost, and the badge says how it stands.
import assert from "node:assert/strict";
import { createServer, request } from "node:http";
import { test } from "node:test";
import { api, idOf, live, origins, post, split, stage, state, submit, visit } from "./harness.mjs";

/** A way to the controller that can be cut. */
async function bridge() {
  const to = new URL(stage.url);
  const server = createServer((asked, answer) => {
    const headers = { ...asked.headers, host: to.host };
    if (headers.origin) headers.origin = to.origin;
    const passed = request({ host: to.hostname, port: to.port, path: asked.url, method: asked.method, headers });
    passed.on("response", (response) => {
      answer.writeHead(response.statusCode, response.headers);
      response.pipe(answer);
    });
    passed.on("error", () => answer.destroy());
    answer.on("close", () => passed.destroy());
    asked.pipe(passed);
  });
  const listen = (port) => new Promise((resolve) => server.listen(port, "127.0.0.1", resolve));
  await listen(0);
  const { port } = server.address();
  return {
    url: `http://127.0.0.1:${port}`,
    cut: () => new Promise((resolve) => { server.close(resolve); server.closeAllConnections(); }),
    mend: () => listen(port),
  };
}

test("events that came while nothing was heard are shown once it is heard again", async () => {
  const way = await bridge();
  origins.add(way.url);
  const page = await visit({ allowed: /^Failed to load resource: net::ERR_/ });
  await submit(page, way.url, split("devices"));
  await live(page);
  await state(page, "waiting");
  await page.evaluate(() => { window.same = true; });

  await way.cut();
  await page.locator("#live[data-state=lost]", { hasText: /reconnecting, stale since \d\d:\d\d:\d\d UTC/ }).waitFor();
  for (const order of ["pause", "resume", "pause"]) {
    await post(stage.url, `/api/v1/migrations/${idOf(page)}/${order}`, { reason: "unheard" });
  }
  assert.equal(await page.locator("#head h1 .mark", { hasText: "waiting" }).count(), 1, "the page keeps what it had");

  await way.mend();
  await live(page);
  await state(page, "paused");
  const journal = await api(stage.url, `/api/v1/migrations/${idOf(page)}/events`);
  const shown = await page.locator("#events td[data-label='No.']").allTextContents();
  assert.deepEqual(shown.map(Number).toSorted((a, b) => a - b), journal.map(({ seq }) => seq), "every event is on the page, once");
  assert.ok(await page.evaluate(() => window.same), "the page was never loaded again");
  await page.close();
  await way.cut();
});
