package shardwright.client;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.SortedSet;
import java.util.TreeSet;

/** What a transaction has touched so far, in shadow mode. */
final class ShadowTransaction {
    private final Shadow shadow;
    /** In a query to all shards: the keys whose condition makes a statement complete; otherwise null. */
    private final RecordedKeySet keys;
    private final SortedSet<String> shards = new TreeSet<>();
    /** The version by which the keys are on these shards; null: none yet. */
    private Routes routes;

    ShadowTransaction(Shadow shadow) {
        this(shadow, null);
    }

    ShadowTransaction(Shadow shadow, RecordedKeySet keys) {
        this.shadow = shadow;
        this.keys = keys;
    }

    void addShard(Routes used, String shard) {
        if (routes != used) {
            // By another version, the same key can be on another shard.
            shards.clear();
        }
        routes = used;
        shards.add(shard);
    }

    /** Begins another transaction. */
    void clear() {
        shards.clear();
    }

    /** Compares a statement with the map. Its parameters are {@code $1}, {@code $2}, …. */
    void record(String sql, List<Object> parameters) {
        Routes used = shadow.routes();
        Optional<AnalyzedStatement> analyzed = shadow.analyzed(used, sql);
        if (analyzed.isEmpty()) {
            String first = sql.strip().split("\\s", 2)[0];
            shadow.add(Finding.Kind.UNREADABLE, first, null, first, List.of());
        } else if (keys == null || !keys.isConditionIn(sql)) {
            for (KeyTables.Use use : analyzed.get().uses()) {
                check(used, analyzed.get(), use, parameters);
            }
        }
    }

    private void check(Routes used, AnalyzedStatement statement, KeyTables.Use use, List<Object> parameters) {
        String fingerprint = statement.fingerprint();
        String normalized = statement.normalized();
        if (use.keys() == null) {
            shadow.add(Finding.Kind.NO_KEY, fingerprint, use.table(), normalized, List.of());
            return;
        }
        for (List<Object> key : FixedValue.keysIn(use.keys(), parameters)) {
            try {
                addShard(used, used.shardFor(key));
            } catch (RouteException error) {
                shadow.add(Finding.Kind.UNMAPPED_KEY, fingerprint, use.table(), normalized, List.of());
            }
        }
        if (shards.size() > 1) {
            shadow.add(Finding.Kind.SEVERAL_SHARDS, fingerprint, null, normalized, new ArrayList<>(shards));
        }
    }
}
