/** Options of the library and of a transaction. */

import type { Pool, PoolConfig } from "pg";

/** Connects to a shard: a connection string, the settings of a pool, or a pool that the application has made. */
export type ShardTarget = string | PoolConfig | Pool;

/** Returns for the name of a shard how to connect with the application's own role. Called once for each shard. */
export type ShardAccess = Readonly<Record<string, ShardTarget>> | ((shard: string) => ShardTarget | undefined);

/** The options of the library. Times are in milliseconds. */
export interface Options {
  /** The maximum number of connections for each shard: 16. */
  readonly connections?: number;
  /** The total time that one call of `withShard` may spend on attempts and pauses: 60,000. */
  readonly retryFor?: number;
  /** The first pause between two attempts: 5. Each later pause is about twice as long. */
  readonly firstPause?: number;
  /** The longest pause between two attempts: 250. */
  readonly longestPause?: number;
  /** The limit of one attempt to connect to a shard: 10,000. */
  readonly connectTimeout?: number;
  /**
   * The time after which lookups fail with `Stale` if no controller has answered. Without it, lookups use the cached map
   * for an unlimited time. For writes that is safe because of the shard's guard.
   */
  readonly maxStaleness?: number;
  /** How often the library reports the most used keys to the controller, for rebalances by load; never by default. */
  readonly reportLoad?: number;
  /** The file with the token for the controllers, by default `SHARDWRIGHT_TOKEN_FILE`. It is read for each request. */
  readonly tokenFile?: string;
  /** The PEM file with the trusted authorities, by default `SHARDWRIGHT_CA_FILE`, otherwise those of Node. */
  readonly caFile?: string;
}

/** The options with their defaults. */
export interface Settings {
  readonly connections: number;
  readonly retryFor: number;
  readonly firstPause: number;
  readonly longestPause: number;
  readonly connectTimeout: number;
  readonly maxStaleness: number | undefined;
  readonly reportLoad: number | undefined;
  readonly tokenFile: string | undefined;
  readonly caFile: string | undefined;
}

export function withDefaults(options: Options): Settings {
  const { connections = 16, retryFor = 60_000, firstPause = 5, longestPause = 250, connectTimeout = 10_000 } = options;
  return {
    connections,
    retryFor,
    firstPause,
    longestPause,
    connectTimeout,
    maxStaleness: options.maxStaleness,
    reportLoad: options.reportLoad,
    tokenFile: options.tokenFile ?? (process.env["SHARDWRIGHT_TOKEN_FILE"] || undefined),
    caFile: options.caFile ?? (process.env["SHARDWRIGHT_CA_FILE"] || undefined),
  };
}

export interface TransactionOptions {
  /** `read committed` by default. */
  readonly isolation?: "read committed" | "repeatable read" | "serializable";
  /** False: the commit is acknowledged before it is on disk, so a crash of the server may lose the transaction. */
  readonly synchronousCommit?: boolean;
}

export const READ_ONLY = "begin isolation level repeatable read read only";

/** The statements that begin a transaction, in one round trip. */
export function beginOf({ isolation = "read committed", synchronousCommit = true }: TransactionOptions): string {
  return `begin isolation level ${isolation}; set local synchronous_commit = ${synchronousCommit ? "on" : "off"}`;
}
