package shardwright.client;

import java.sql.Connection;
import java.sql.SQLException;

/**
 * A query to all shards.
 *
 * @param <T> the answer of one shard
 */
@FunctionalInterface
public interface Query<T> {
    /** Queries one shard, in a read-only transaction with one snapshot. */
    T run(Part part, Connection connection) throws SQLException;
}
