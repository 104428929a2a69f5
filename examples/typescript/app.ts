/**
 * An application that shards by tenant: a few clients that write orders and read them, until they are told to stop.
 *
 *     node dist/app.js --controller http://127.0.0.1:7432 --map tenants --shard a=postgres://… --shard b=postgres://…
 *
 * Each acknowledged order is a line on stdout, `tenant id`; whoever reads them can look for every one. Stops at the end
 * of stdin. Wants a table `orders (tenant_id bigint, id bigint, note text)` on the shards.
 */

import { parseArgs } from "node:util";
import pg from "pg";
import { CommitUnknown, ShardMap, Shards } from "./src/index.js";

const TENANTS = 1000;

const { values } = parseArgs({
  options: {
    controller: { type: "string" },
    map: { type: "string" },
    shard: { type: "string", multiple: true },
    "token-file": { type: "string" },
    clients: { type: "string", default: "4" },
  },
});
if (!values.controller || !values.map || !values.shard) throw new Error("--controller, --map and --shard are wanted");

const dsns = new Map(values.shard.map((shard) => [shard.slice(0, shard.indexOf("=")), shard.slice(shard.indexOf("=") + 1)]));
const tokenFile = values["token-file"];
const map = await ShardMap.connect(values.controller, values.map, tokenFile === undefined ? {} : { tokenFile });
const shards = new Shards(map, (shard) => new pg.Pool({ connectionString: dsns.get(shard), max: 8 }));

let stopped = false;
process.stdin.resume().on("end", () => (stopped = true));
let next = 2_000_000;

async function placeOrder(tenant: number, number: number): Promise<void> {
  const place = { text: "insert into orders (tenant_id, id, note) values ($1, $2, 'typescript')", values: [tenant, number] };
  const look = { text: "select note from orders where tenant_id = $1 and id = $2", values: [tenant, number] };
  for (;;) {
    try {
      await shards.run(tenant, async (client) => {
        await client.query(place);
        // An application reads what it has written.
        const { rows } = await client.query<{ note: string }>(look);
        if (rows[0]?.note !== "typescript") throw new Error(`order ${number} is not what was written`);
      });
      break;
    } catch (error) {
      if (!(error instanceof CommitUnknown)) throw error;
      const { rowCount } = await shards.run(tenant, (client) => client.query(look));
      if (rowCount) break;
    }
  }
  process.stdout.write(`${tenant} ${number}\n`);
}

async function client(): Promise<void> {
  while (!stopped) await placeOrder(1 + Math.floor(Math.random() * TENANTS), next++);
}

try {
  await Promise.all(Array.from({ length: Number(values.clients) }, client));
  process.stderr.write(`map version ${map.routes.version}, ${shards.refusals} refusal(s)\n`);
} catch (error) {
  process.stderr.write(`error: ${String(error)}\n`);
  process.exitCode = 1;
}
stopped = true;
map.close();
await shards.close();
process.stdin.destroy();
