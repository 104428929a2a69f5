package shardwright.client;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;

/**
 * The answers of the shards to a query to all of them.
 *
 * @param version the version of the map that the query used
 * @param newer the version in the cache when the last shard answered, if it is another one. Then keys have changed
 *     their owner meanwhile, and the old owner may already have removed their rows
 * @param shards the answer of each shard that owns keys, ordered by name
 * @param <T> the answer of one shard
 */
public record FanOut<T>(long version, OptionalLong newer, Map<String, Answer<T>> shards) {
    /**
     * The answer of one shard.
     *
     * @param value what the query returned; null after an error
     * @param error the error, an {@code SQLException} or a {@code RuntimeException}; null if there is none
     * @param <T> the answer
     */
    public record Answer<T>(T value, Exception error) {
        /** Returns the value. Throws the error, if there is one. */
        public T get() throws SQLException {
            if (error instanceof SQLException exception) {
                throw exception;
            } else if (error instanceof RuntimeException exception) {
                throw exception;
            }
            return value;
        }
    }

    /** A thread for the query to a shard, which does not keep the program alive. */
    static Thread thread(Runnable task) {
        Thread thread = new Thread(task, "shardwright query");
        thread.setDaemon(true);
        return thread;
    }

    /** Returns the answers of all shards, ordered by the names of the shards. Throws the first error. */
    public List<T> all() throws SQLException {
        List<T> values = new ArrayList<>();
        for (Answer<T> answer : shards.values()) {
            values.add(answer.get());
        }
        return values;
    }
}
