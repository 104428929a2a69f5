package shardwright.client;

import java.sql.Connection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * Compares the statements of an application that still has one database with a map.
 *
 * <p>What would not work on shards is reported, each kind of statement once, without its values: a statement on a table
 * of the map that does not fix the table's key, a transaction with keys of several shards, and a key that no shard
 * owns. Several threads may use it at the same time.
 */
public final class Shadow {
    private static final System.Logger LOG = System.getLogger("shardwright");
    private static final int MAX_STATEMENTS = 4096;
    private static final List<String> OTHERS = List.of(
            "shardwright.client.", "java.", "javax.", "jdk.", "com.sun.proxy.", "org.postgresql.", "com.zaxxer.");

    /** What distinguishes findings. */
    private record Identity(Finding.Kind kind, String fingerprint, String table) {}

    private final Supplier<Routes> routes;
    private final StatementParser parser;
    private final Consumer<Finding> report;
    private final Map<Identity, Finding> findings = new HashMap<>();
    private final Map<String, Long> transactions = new HashMap<>();
    private final Map<String, Optional<AnalyzedStatement>> statements = new HashMap<>();
    private KeyTables tables;
    private long version = -1;

    Shadow(Supplier<Routes> routes, ShadowAccess access) {
        this.routes = routes;
        parser = access.parser();
        report = access.report();
    }

    /** Returns what was found so far, the most frequent first. */
    public synchronized List<Finding> findings() {
        return findings.values().stream().sorted(Comparator.comparingLong(Finding::count).reversed()).toList();
    }

    /** Returns how many transactions of the map each shard would have got. */
    public synchronized Map<String, Long> transactions() {
        return Map.copyOf(transactions);
    }

    /**
     * Returns a connection whose statements are compared with the map, for code that does not use the transactions of
     * the map yet. Without auto-commit, statements belong to one transaction until {@code commit} or {@code rollback}.
     */
    public Connection record(Connection connection) {
        return RecordedConnection.of(connection, new ShadowTransaction(this));
    }

    /** Records what a transaction on the shard of {@code key} executes. */
    <T, E extends Exception> Work<T, E> recorded(Object key, Work<T, E> work) {
        Routes used = routes.get();
        String shard = used.shardFor(key);
        synchronized (this) {
            transactions.merge(shard, 1L, Long::sum);
        }
        return connection -> {
            ShadowTransaction transaction = new ShadowTransaction(this);
            transaction.addShard(used, shard);
            return work.run(RecordedConnection.of(connection, transaction));
        };
    }

    /** Records what a query on a shard executes. */
    <T> Query<T> recorded(Query<T> query) {
        return (part, connection) -> {
            RecordedKeySet keys = new RecordedKeySet(part.keys());
            ShadowTransaction transaction = new ShadowTransaction(this, keys);
            return query.run(new Part(part.shard(), keys), RecordedConnection.of(connection, transaction));
        };
    }

    Routes routes() {
        return routes.get();
    }

    /** Returns what the parser finds in a statement; nothing if it does not understand it. */
    synchronized Optional<AnalyzedStatement> analyzed(Routes current, String sql) {
        if (current.version() != version) {
            tables = new KeyTables(current.settings());
            version = current.version();
            statements.clear();
        }
        Optional<AnalyzedStatement> known = statements.get(sql);
        if (known == null) {
            if (statements.size() >= MAX_STATEMENTS) {
                statements.clear();
            }
            known = AnalyzedStatement.of(parser, sql, tables);
            statements.put(sql, known);
        }
        return known;
    }

    void add(Finding.Kind kind, String fingerprint, String table, String statement, List<String> shards) {
        Identity identity = new Identity(kind, fingerprint, table);
        Finding found;
        synchronized (this) {
            Finding known = findings.get(identity);
            found = known == null ? new Finding(kind, statement, table, shards, place(), 1) : known.oneMore();
            findings.put(identity, found);
        }
        if (found.count() == 1) {
            reported(found);
        }
    }

    /** A report that fails must not fail the statement of the application. */
    private void reported(Finding found) {
        try {
            report.accept(found);
        } catch (RuntimeException error) {
            LOG.log(System.Logger.Level.WARNING, "a finding was not reported", error);
        }
    }

    /** The method and line of the application: the first one outside of this library, the driver and the platform. */
    private static String place() {
        return StackWalker.getInstance().walk(frames -> {
            List<StackTraceElement> all = frames.map(StackWalker.StackFrame::toStackTraceElement).toList();
            return all.stream()
                    .filter(frame -> OTHERS.stream().noneMatch(frame.getClassName()::startsWith))
                    .findFirst()
                    .orElse(all.get(all.size() - 1))
                    .toString();
        });
    }
}
