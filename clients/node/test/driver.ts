/**
 * The library as the conformance suite drives it: requests and answers are lines of JSON.
 *
 *     node dist/test/driver.js [--kysely]
 */

import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { sql } from "kysely";
import pg from "pg";
import * as library from "../src/index.js";
import { accept, bucket, hash64, type KeyType, placeOf, text } from "../src/keys.js";
import { compare, readKeySet } from "../src/key-set.js";
import { withShard } from "../src/kysely.js";

const KINDS: readonly (readonly [new (message: string) => Error, string])[] = [
  [library.Unmapped, "unmapped"],
  [library.NotAKey, "not_a_key"],
  [library.Stale, "stale"],
  [library.MapError, "map"],
  [library.FetchFailed, "fetch"],
  [library.NoAccess, "no_access"],
  [library.ConnectFailed, "connect"],
  [library.FailedStatementIgnored, "failed_statement_ignored"],
  [library.TransactionEnded, "transaction_ended"],
  [library.CommitUnknown, "commit_unknown"],
  [library.GaveUp, "gave_up"],
  [library.NoAnswer, "no_answer"],
];

/** An error of the application's own function. */
class ApplicationError extends Error {}

interface Statement {
  readonly sql: string;
  readonly params?: unknown[];
  readonly fail?: string;
  readonly ignore_error?: boolean;
}

/** The arguments of all requests; each has those of its operation. */
interface Request {
  readonly types: KeyType[];
  readonly values: library.KeyValue[];
  readonly of: number[];
  readonly sets: Parameters<typeof readKeySet>[1][];
  readonly keys: library.KeyValue[];
  readonly columns: string[];
  readonly text: string;
  readonly path: string;
  readonly controllers: string;
  readonly map: string;
  readonly options: Record<string, unknown>;
  readonly shards: Record<string, string>;
  readonly shadow?: string;
  readonly key: library.KeyValue;
  readonly version: number;
  readonly work: Statement[];
  readonly sql: string;
  readonly limit: number;
  readonly ignore_error: boolean;
  readonly statements: Statement[];
}
type Run = (statement: Statement) => Promise<unknown[][]>;

const usesKysely = process.argv.includes("--kysely");
let map: library.ShardMap | undefined;
let shadowDatabase: string | undefined;

function connected(): library.ShardMap {
  if (map === undefined) throw new Error("no map is connected");
  return map;
}

const camel = (name: string): string => name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
const snake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Options in milliseconds, from those in seconds. */
function optionsOf(options: Record<string, unknown>): library.Options {
  const entries = Object.entries(options).map(([name, value]) => {
    const isTime = typeof value === "number" && name !== "connections";
    return [camel(name), isTime ? value * 1000 : value] as const;
  });
  return Object.fromEntries(entries);
}

async function runAll(run: Run, statements: readonly Statement[]): Promise<unknown[][]> {
  let rows: unknown[][] = [];
  for (const statement of statements) {
    if (statement.fail !== undefined) throw new ApplicationError(statement.fail);
    try {
      rows = await run(statement);
    } catch (error) {
      if (statement.ignore_error !== true) throw error;
    }
  }
  return rows;
}

const runOn = (client: pg.ClientBase): Run => async ({ sql: statement, params = [] }) => {
  const { rows } = await client.query({ text: statement, values: params, rowMode: "array" });
  return rows as unknown[][];
};

const operations: Record<string, (request: Request) => unknown> = {
  keys: ({ types, values, of }) =>
    values.map((value) => {
      try {
        const key = accept(types, value);
        return {
          texts: key.map((column, at) => text(types[at]!, column)),
          hash: BigInt.asIntN(64, hash64(types, key)).toString(),
          buckets: of.map((count) => bucket(types, key, count)),
        };
      } catch (error) {
        if (error instanceof library.NotAKey) return { error: "not_a_key" };
        throw error;
      }
    }),
  sort: ({ types, values }) => {
    const places = values.map((value) => placeOf(types, accept(types, value)));
    return [...places.keys()].sort((one, other) => compare(places[one], places[other]));
  },
  sets: ({ types, sets, keys, columns }) => {
    const accepted = keys.map((key) => accept(types, key));
    return sets.map((json) => {
      const set = readKeySet(types, json);
      const members = [...accepted.keys()].filter((at) => set.contains(accepted[at]!));
      return { members, predicate: set.predicate(columns) };
    });
  },
  routes: ({ text: json, keys, columns }) => {
    const routes = new library.Routes(json);
    const shardOf = (key: library.KeyValue): string | null => {
      try {
        return routes.shardFor(key);
      } catch (error) {
        if (error instanceof library.Unmapped) return null;
        throw error;
      }
    };
    const predicates = routes.shards.map((shard) => [shard, routes.ownedBy(shard).predicate(columns)] as const);
    return { shards: keys.map(shardOf), predicates: Object.fromEntries(predicates) };
  },
  measure: ({ path, keys }) => {
    const json = readFileSync(path, "utf8");
    globalThis.gc?.();
    const before = process.memoryUsage();
    const begun = performance.now();
    const routes = new library.Routes(json);
    const loaded = performance.now();
    const shards = keys.map((key) => routes.shardFor(key));
    const took = performance.now() - loaded;
    globalThis.gc?.();
    const after = process.memoryUsage();
    const memory = after.heapUsed + after.arrayBuffers - before.heapUsed - before.arrayBuffers;
    return {
      shards,
      load_seconds: (loaded - begun) / 1000,
      lookup_micros: (took / shards.length) * 1000,
      memory_mib: memory / 2 ** 20,
    };
  },
  connect: async ({ controllers, map: name, options, shards, shadow }) => {
    shadowDatabase = shadow;
    const access = shadow === undefined ? shards : new library.ShadowAccess(shadow, () => undefined);
    map = await library.ShardMap.connect(controllers, name, access, optionsOf(options));
  },
  close: async () => {
    await map?.close();
    map = undefined;
  },
  lookup: ({ key }) => connected().shardFor(key),
  wait_version: async ({ version }) => {
    while (connected().routes.version < version) await connected().waitForNewer(version - 1, 60_000);
  },
  stats: () => Object.fromEntries(Object.entries(connected().stats()).map(([name, value]) => [snake(name), value])),
  with_shard: ({ key, work, options }) => {
    const wanted: library.TransactionOptions = Object.fromEntries(
      Object.entries(options).map(([name, value]) => [camel(name), value]),
    );
    if (!usesKysely) return connected().withShard(key, (client) => runAll(runOn(client), work), wanted);
    return withShard(connected(), key, (db) => {
      const run: Run = async ({ sql: statement, params = [] }) => {
        const parts = statement.split(/\$\d+/);
        const values = [...statement.matchAll(/\$(\d+)/g)].map(([, number]) => params[Number(number) - 1]);
        const query = sql<Record<string, unknown>>(parts as unknown as TemplateStringsArray, ...values);
        const { rows } = await query.execute(db);
        return rows.map((row) => Object.values(row));
      };
      return runAll(run, work);
    }, wanted);
  },
  on_all: async ({ sql: statement, limit, columns, ignore_error }) => {
    const result = await connected().onAll((part, client) => {
      const complete = statement.replace("{predicate}", () => part.predicate(columns));
      return runAll(runOn(client), [{ sql: complete, ignore_error }]);
    }, limit);
    const shards = [...result.shards].map(([shard, answer]) => {
      return [shard, answer.status === "fulfilled" ? { ok: answer.value } : { error: kindOf(answer.reason) }] as const;
    });
    return { version: result.version, newer: result.newer ?? null, shards: Object.fromEntries(shards) };
  },
  execute: async ({ statements }) => {
    const pool = new pg.Pool({ connectionString: shadowDatabase! });
    connected().shadow!.observe(pool);
    const client = await pool.connect();
    await client.query("begin");
    await runAll(runOn(client), statements).finally(() => client.query("rollback"));
    client.release();
    await pool.end();
  },
  findings: () =>
    connected().shadow!.findings().map(({ kind, table, shards, count, place }) => ({ kind, table: table ?? null, shards, count, place })),
};

/** The language-neutral name of an error. */
function kindOf(error: unknown): string {
  if (error instanceof ApplicationError) return "application";
  const known = KINDS.find(([type]) => error instanceof type)?.[1];
  return known ?? (library.sqlstate(error) === undefined ? `unexpected ${String(error)}` : "database");
}

async function answer(line: string): Promise<void> {
  const { id, op, ...request } = library.parseJson(line) as { id: number; op: string };
  let result: unknown;
  try {
    result = { id, ok: (await operations[op]!(request as unknown as Request)) ?? null };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    result = { id, error: { kind: kindOf(error), message, sqlstate: library.sqlstate(error) } };
  }
  process.stdout.write(`${JSON.stringify(result)}\n`);
}

createInterface({ input: process.stdin }).on("line", (line) => void answer(line));
