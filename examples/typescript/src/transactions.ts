/** A whole transaction on the shard of its key, repeated where that is safe; with the driver `pg`. */

import { setTimeout as pause } from "node:timers/promises";
import type { Pool, PoolClient } from "pg";
import type { ShardMap } from "./feed.js";
import type { Value } from "./keys.js";

/** The shard does not own the key (now). Read the map again, repeat the whole transaction. */
export const NOT_OWNER = "SM001";
/** The shard does not own the key yet. The same. */
export const NOT_OPEN = "SM002";
/** Serialization failure, deadlock; the server stops, crashed or starts; no connection is left. */
const AGAIN = new Set(["40001", "40P01", "57P01", "57P02", "57P03", "53300"]);
const LOST = new Set(["ECONNREFUSED", "ECONNRESET", "EPIPE", "ETIMEDOUT", "ENOTFOUND", "EHOSTUNREACH"]);

/** The connection was lost while the commit was under way: look for the transaction before you repeat it. */
export class CommitUnknown extends Error {}
/** The time for attempts is over; the last one was rolled back. */
export class GaveUp extends Error {}

export class Shards {
  /** Times that a shard said it does not own a key. */
  refusals = 0;
  readonly #map: ShardMap;
  readonly #pools = new Map<string, Pool>();
  readonly #open: (shard: string) => Pool;
  readonly #patience: number;

  /** `open` makes a pool for a shard by its name, once for each; `patience` in milliseconds. */
  constructor(map: ShardMap, open: (shard: string) => Pool, patience = 30_000) {
    [this.#map, this.#open, this.#patience] = [map, open, patience];
  }

  async close(): Promise<void> {
    await Promise.all([...this.#pools.values()].map((pool) => pool.end()));
  }

  /**
   * Runs `work` between begin and commit, on the shard that owns the key.
   *
   * It may be run several times, so it does nothing but what its client takes back.
   */
  async run<T>(key: Value | readonly Value[], work: (client: PoolClient) => Promise<T>): Promise<T> {
    const until = Date.now() + this.#patience;
    for (let wait = 5; ; wait = Math.min(wait * 2, 250)) {
      const { routes } = this.#map;
      const shard = routes.shardFor(key);
      let state: string | undefined;
      try {
        return await this.#once(shard, work);
      } catch (error) {
        state = stateOf(error);
        if (error instanceof CommitUnknown || !isPassing(error, state)) throw error;
        if (Date.now() > until) {
          const after = `no attempt went through in ${this.#patience} ms: ${String(error)}`;
          throw new GaveUp(`key ${String(key)}: ${after}`, { cause: error });
        }
      }
      if (state === NOT_OWNER || state === NOT_OPEN) {
        this.refusals += 1;
        await this.#map.newerThan(routes.version, wait);
      } else {
        await pause(wait * (0.8 + Math.random() * 0.4));
      }
    }
  }

  async #once<T>(shard: string, work: (client: PoolClient) => Promise<T>): Promise<T> {
    const client = await this.#pool(shard).connect();
    let [committing, broken] = [false, false];
    try {
      await client.query("begin");
      const result = await work(client);
      committing = true;
      await client.query("commit");
      return result;
    } catch (error) {
      const state = stateOf(error);
      if (committing && (state === undefined || /^(57P|08)/.test(state))) {
        broken = true;
        throw new CommitUnknown(`shard ${shard}: the connection was lost during commit`, { cause: error });
      }
      broken = await client.query("rollback").then(() => false, () => true);
      throw error;
    } finally {
      client.release(broken);
    }
  }

  #pool(shard: string): Pool {
    let pool = this.#pools.get(shard);
    if (pool === undefined) {
      pool = this.#open(shard);
      // A connection that is lost while nobody uses it is replaced.
      pool.on("error", () => undefined);
      this.#pools.set(shard, pool);
    }
    return pool;
  }
}

/** What the server called the error; nothing where it was not the server's. */
function stateOf(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) && !LOST.has(code) ? code : undefined;
}

function isPassing(error: unknown, state: string | undefined): boolean {
  if (state !== undefined) return state === NOT_OWNER || state === NOT_OPEN || AGAIN.has(state) || state.startsWith("08");
  const { code, message } = error as { code?: string; message?: string };
  return LOST.has(code ?? "") || /Connection terminated|connection timeout/i.test(message ?? "");
}
