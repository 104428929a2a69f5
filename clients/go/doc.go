// Package shardwright is the shard map of Shardwright for applications: it finds the shard of a key, and runs a
// transaction on that shard.
//
//   - Connect reads the map once. A goroutine follows its changes, and lookups use the cache.
//   - Map.WithShard runs a whole transaction on the key's shard, and repeats it when that is safe. A commit with an
//     unknown outcome is never repeated.
//   - OnAll sends a query to all shards.
//
// The library does not write the map, is no proxy, and has no transactions over several shards. This package needs the
// standard library only; the package pgx4 connects it to PostgreSQL.
package shardwright

// Version is the version of Shardwright, and of this library.
const Version = "0.1.0"
