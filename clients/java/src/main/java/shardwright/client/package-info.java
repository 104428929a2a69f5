/**
 * The shard map of Shardwright for applications: it finds the shard of a key, and runs a transaction on that shard.
 *
 * <ul>
 *   <li>{@link shardwright.client.Shardwright#connect} reads the map once. A thread follows its changes, and lookups
 *       use the cache.
 *   <li>{@link shardwright.client.Shardwright#transaction} runs a whole transaction on the key's shard, and repeats it
 *       when that is safe. A commit with an unknown outcome is never repeated.
 *   <li>{@link shardwright.client.Shardwright#onAll} sends a query to all shards.
 * </ul>
 *
 * <p>The library does not write the map, is no proxy, and has no transactions over several shards.
 */
package shardwright.client;
