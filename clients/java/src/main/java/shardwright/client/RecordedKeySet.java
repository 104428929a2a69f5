package shardwright.client;

import java.util.ArrayList;
import java.util.List;

/** The keys of a shard in a query to all shards, which remembers the conditions that it wrote. */
final class RecordedKeySet extends KeySet {
    private final KeySet keys;
    private final List<String> written = new ArrayList<>();

    RecordedKeySet(KeySet keys) {
        super(keys.types());
        this.keys = keys;
    }

    @Override
    public String predicate(String... columns) {
        String condition = keys.predicate(columns);
        synchronized (written) {
            // In a prepared statement, the application writes its question marks twice.
            written.add(condition);
        }
        return condition;
    }

    boolean isConditionIn(String sql) {
        synchronized (written) {
            return written.stream().anyMatch(sql::contains);
        }
    }

    @Override
    boolean containsKey(Key key) {
        return keys.containsKey(key);
    }

    @Override
    List<String> conditions(List<String> columns) {
        return keys.conditions(columns);
    }
}
