/** A shard map in Node: which shard has a key, and a transaction on that shard. See README.md. */

export { type MapOptions, ShardMap } from "./feed.js";
export { KeyError, type Value } from "./keys.js";
export { type MapDocument, Routes, Unmapped } from "./routes.js";
export { CommitUnknown, GaveUp, NOT_OPEN, NOT_OWNER, Shards } from "./transactions.js";
