/**
 * The shard map of Shardwright for applications: it finds the shard of a key, and runs a transaction on that shard.
 *
 * The library does not write the map, is no proxy, and has no transactions over several shards. See README.md.
 */

export type { JsonMap, Settings as MapSettings } from "./document.js";
export { parseJson } from "./document.js";
export * from "./errors.js";
export { FanOut, Part } from "./fan-out.js";
export { KeySet } from "./key-set.js";
export type { ColumnValue, KeyType, KeyValue } from "./keys.js";
export { ShardMap } from "./map.js";
export type { Options, ShardAccess, ShardTarget, TransactionOptions } from "./options.js";
export { NOT_OPEN, NOT_OWNER, sqlstate } from "./retry.js";
export { Routes } from "./routes.js";
export { describe, type Finding, type FindingKind, Shadow, ShadowAccess } from "./shadow.js";
export type { Stats } from "./stats.js";
