/** Kysely: queries in the transaction of a shard. Needs the package `kysely`. */

import { Kysely, type KyselyConfig, PostgresDialect, type PostgresPoolClient } from "kysely";
import type { PoolClient } from "pg";
import type { KeyValue } from "./keys.js";
import type { ShardMap } from "./map.js";
import type { TransactionOptions } from "./options.js";

/** Returns an instance of Kysely that executes everything on `client`, in the transaction that the client has. */
export function kyselyOn<Database>(client: PoolClient, config: Omit<KyselyConfig, "dialect"> = {}): Kysely<Database> {
  const borrowed = {
    query: client.query.bind(client),
    // The library returns the connection to its pool.
    release: () => undefined,
  } as unknown as PostgresPoolClient;
  const pool = { connect: async () => borrowed, end: async () => undefined };
  return new Kysely<Database>({ ...config, dialect: new PostgresDialect({ pool }) });
}

/**
 * Runs `work(db)` in a transaction on the shard that owns `key`, and commits it; repeated as in `ShardMap.withShard`.
 *
 * `db.transaction()` is not possible in it: the transaction has begun already.
 */
export async function withShard<Database, T>(
  map: ShardMap,
  key: KeyValue,
  work: (db: Kysely<Database>) => Promise<T>,
  options: TransactionOptions & { readonly kysely?: Omit<KyselyConfig, "dialect"> } = {},
): Promise<T> {
  return map.withShard(key, (client) => work(kyselyOn<Database>(client, options.kysely)), options);
}
