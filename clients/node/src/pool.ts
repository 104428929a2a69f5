/** The pools of all shards, each created on first use, and one transaction on a connection of a pool. */

import type { EventEmitter } from "node:events";
import pg from "pg";
import { FailedStatementIgnored, NoAccess, TransactionEnded } from "./errors.js";
import { READ_ONLY, type Settings, type ShardAccess, type ShardTarget } from "./options.js";
import type { Attempt } from "./retry.js";

export class Pools {
  readonly #access: ShardAccess;
  readonly #settings: Settings;
  readonly #onCreate: (pool: pg.Pool) => void;
  readonly #pools = new Map<string, pg.Pool>();
  readonly #own: pg.Pool[] = [];

  constructor(access: ShardAccess, settings: Settings, onCreate: (pool: pg.Pool) => void) {
    [this.#access, this.#settings, this.#onCreate] = [access, settings, onCreate];
  }

  /** Returns the pool of a shard. */
  poolOf(shard: string): pg.Pool {
    const known = this.#pools.get(shard);
    if (known !== undefined) return known;
    const target = typeof this.#access === "function" ? this.#access(shard) : this.#access[shard];
    if (target === undefined) throw new NoAccess(`no connection string for shard ${shard}`);
    const pool = this.#poolFor(target);
    // A connection that is lost while it is idle is replaced.
    pool.on("error", () => undefined);
    this.#onCreate(pool);
    this.#pools.set(shard, pool);
    return pool;
  }

  /** Closes the pools that the library has made. */
  async close(): Promise<void> {
    await Promise.all(this.#own.map((pool) => pool.end()));
  }

  #poolFor(target: ShardTarget): pg.Pool {
    // Not `instanceof`: the application can have another copy of the driver.
    if (typeof target === "object" && "connect" in target) return target;
    const config = typeof target === "string" ? { connectionString: target } : target;
    const { connections, connectTimeout } = this.#settings;
    const pool = new pg.Pool({ max: connections, connectionTimeoutMillis: connectTimeout, ...config });
    this.#own.push(pool);
    return pool;
  }
}

/** Runs `work` in a transaction, and commits it. Records in `attempt` how far it got. */
export async function transact<T>(
  pool: pg.Pool,
  attempt: Attempt,
  begin: string,
  work: (client: pg.PoolClient) => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  let isBroken = false;
  const onError = (): void => {
    isBroken = true;
  };
  // Without a listener, a connection that is lost between two statements would end the process.
  client.on("error", onError);
  const server = serverOf(client);
  // The server ends the session after such an error; the connection itself ends a moment later.
  const onServerError = ({ severity }: { severity?: string }): void => {
    if (severity === "FATAL" || severity === "PANIC") isBroken = true;
  };
  server?.on("errorMessage", onServerError);
  try {
    attempt.stage = "work";
    await client.query(begin);
    const result = await completed(attempt, client, work);
    // A commit that is not sent has no unknown outcome.
    if (isBroken) throw new Error(`connection terminated before the commit was sent to shard ${attempt.shard}`);
    if (statusOf(client) === "E") throw ignored(attempt);
    if (begin !== READ_ONLY) attempt.stage = "commit";
    // The status may not have arrived yet after a failed statement; the answer to a commit says it.
    const { command } = await client.query("commit");
    if (command !== "COMMIT") throw ignored(attempt);
    return result;
  } finally {
    const isOpen = !isBroken && statusOf(client) !== "I";
    if (isOpen) await client.query("rollback").catch(onError);
    client.off("error", onError);
    server?.off("errorMessage", onServerError);
    client.release(isBroken || statusOf(client) !== "I");
  }
}

/** Runs the work. What it has committed itself must not be repeated, even if the connection is lost then. */
async function completed<T>(
  attempt: Attempt,
  client: pg.PoolClient,
  work: (client: pg.PoolClient) => Promise<T>,
): Promise<T> {
  try {
    const result = await work(client);
    if (statusOf(client) === "I") throw ended(attempt);
    return result;
  } catch (error) {
    throw statusOf(client) === "I" && !(error instanceof TransactionEnded) ? ended(attempt, error) : error;
  }
}


function ended({ shard }: Attempt, cause?: unknown): TransactionEnded {
  return new TransactionEnded(`the function ended its transaction on shard ${shard}`, { cause });
}

function ignored({ shard }: Attempt): FailedStatementIgnored {
  return new FailedStatementIgnored(
    `the function ignored a failed statement; the transaction on shard ${shard} was rolled back`,
  );
}

/** The messages of the server; the native driver has none. */
function serverOf(client: pg.PoolClient): EventEmitter | undefined {
  return (client as pg.PoolClient & { readonly connection?: EventEmitter }).connection;
}

/** What the server reported last: `I` no transaction, `T` a transaction, `E` a failed one. */
function statusOf(client: pg.PoolClient): string | null {
  return (client as pg.PoolClient & { getTransactionStatus(): string | null }).getTransactionStatus();
}
