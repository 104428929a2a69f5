/**
 * An application that shards by tenant: a few clients that write orders and read them, until the end of stdin.
 *
 *     node dist/app.js --controller http://127.0.0.1:7432 --map tenants --shard a=postgres://… --shard b=postgres://…
 *
 * With `--kysely` orders are written with Kysely. Each acknowledged order is a line on stdout, `tenant id`, so that
 * another program can search for every one. The shards need a table `orders (tenant_id bigint, id bigint, note text)`.
 */

import { setTimeout } from "node:timers/promises";
import { parseArgs } from "node:util";
import type { PoolClient } from "pg";
import { CommitUnknown, ShardMap } from "shardwright";
import { kyselyOn } from "shardwright/kysely";

const TENANTS = 1000;
/** What a client does between two orders, in milliseconds. */
const OTHER_WORK = 50;

const { values } = parseArgs({
  options: {
    controller: { type: "string" },
    map: { type: "string" },
    shard: { type: "string", multiple: true },
    "token-file": { type: "string" },
    clients: { type: "string", default: "4" },
    kysely: { type: "boolean", default: false },
  },
});
if (!values.controller || !values.map || !values.shard) throw new Error("--controller, --map and --shard are required");

const shards = Object.fromEntries(values.shard.map((shard) => [shard.slice(0, shard.indexOf("=")), shard.slice(shard.indexOf("=") + 1)]));
const tokenFile = values["token-file"];
const map = await ShardMap.connect(values.controller, values.map, shards, tokenFile === undefined ? {} : { tokenFile });

let isStopped = false;
process.stdin.resume().on("end", () => (isStopped = true));
let nextNumber = values.kysely ? 7_000_000 : 2_000_000;

async function placeOrder(tenant: number, number: number): Promise<void> {
  const exists = async (client: PoolClient): Promise<boolean> => {
    const { rows } = await client.query("select note from orders where tenant_id = $1 and id = $2", [tenant, number]);
    return rows[0]?.note === "typescript";
  };
  const insert = async (client: PoolClient): Promise<void> => {
    if (values.kysely) {
      const order = { tenant_id: tenant, id: number, note: "typescript" };
      await kyselyOn<{ orders: typeof order }>(client).insertInto("orders").values(order).execute();
    } else {
      await client.query("insert into orders (tenant_id, id, note) values ($1, $2, 'typescript')", [tenant, number]);
    }
    // An application reads what it has written.
    if (!(await exists(client))) throw new Error(`order ${number} is not what was written`);
  };
  for (let isPlaced = false; !isPlaced; ) {
    try {
      await map.withShard(tenant, insert);
      isPlaced = true;
    } catch (error) {
      if (!(error instanceof CommitUnknown)) throw error;
      // The order is placed again only if it was not committed.
      isPlaced = await map.withShard(tenant, exists);
    }
  }
  process.stdout.write(`${tenant} ${number}\n`);
}

async function runClient(): Promise<void> {
  while (!isStopped) {
    await placeOrder(1 + Math.floor(Math.random() * TENANTS), nextNumber++);
    await setTimeout(OTHER_WORK);
  }
}

try {
  await Promise.all(Array.from({ length: Number(values.clients) }, runClient));
  const { version, notOwner, notOpen } = map.stats();
  process.stderr.write(`map version ${version}, ${notOwner + notOpen} refusal(s)\n`);
} catch (error) {
  process.stderr.write(`error: ${String(error)}\n`);
  process.exitCode = 1;
}
isStopped = true;
await map.close();
process.stdin.destroy();
