// The life of a migration that both devices go through, and what happens to it elsewhere.
import { readFileSync, writeFileSync } from "node:fs";
import { api, stage } from "./harness.mjs";

const TABLES = { tables: { tenants: "id", orders: "tenant_id", order_items: "tenant_id" } };

/** Names the tables of the map, so that a request needs none. */
export const nameTables = (map) =>
  api(stage.url, `/api/v1/maps/${map}/settings`, { method: "PATCH", body: JSON.stringify(TABLES) });

/** Makes the password of the map's target wrong; returns what makes it right again. */
export function spoilPassword(map) {
  const file = stage.passwords[map];
  const right = readFileSync(file, "utf8");
  writeFileSync(file, "another");
  return () => writeFileSync(file, right);
}
