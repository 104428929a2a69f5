package shardwright.client;

/**
 * A shard, and the keys that it owns in the version of the map that a query to all shards uses.
 *
 * @param shard the name of the shard
 * @param keys its keys
 */
public record Part(String shard, KeySet keys) {
    /**
     * Returns an SQL condition for the rows whose key the shard owns.
     *
     * <p>While keys move, two shards have their rows; with this condition each row is read on one shard only. On a list
     * map the condition contains every key of the shard. In a prepared statement write {@code ??} for each {@code ?} in
     * it.
     *
     * @param columns the SQL names of the key's columns, such as {@code tenant_id} or {@code o.tenant_id}
     */
    public String predicate(String... columns) {
        return keys.predicate(columns);
    }
}
