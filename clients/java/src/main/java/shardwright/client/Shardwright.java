package shardwright.client;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.BiFunction;
import java.util.function.Supplier;

/**
 * A cached shard map, and a thread that follows its changes: it routes by key, and repeats transactions on the new
 * owner after a cutover. Several threads may use it at the same time.
 */
public final class Shardwright implements AutoCloseable {
    /** The SQLSTATE of a shard that does not own the key (any more, or not for the moment). */
    public static final String NOT_OWNER = "SM001";
    /** The SQLSTATE of a shard that does not own the key yet. */
    public static final String NOT_OPEN = "SM002";

    private static final int QUERIES_AT_ONCE = 8;

    private final Options options;
    private final Counters counters;
    private final Pools pools;
    private final Feed feed;
    private final LoadReports load;
    private final Shadow shadow;

    private Shardwright(String controllers, String name, ShardAccess access, Options options) {
        this.options = options;
        counters = new Counters();
        pools = new Pools(access, options);
        feed = Feed.open(controllers, name, options, counters, routes -> pools.keep(Set.copyOf(routes.shards())));
        load = options.reportLoad == null ? null : new LoadReports(feed.controllers(), routes(), options.reportLoad);
        shadow = access instanceof ShadowAccess one ? new Shadow(this::routes, one) : null;
    }

    /** Reads the map {@code name} with the default options, and starts to follow its changes. */
    public static Shardwright connect(String controllers, String name, ShardAccess access) {
        return connect(controllers, name, access, Options.builder().build());
    }

    /**
     * Reads the map {@code name}, and starts to follow its changes.
     *
     * <p>Afterwards lookups use the cache, even if no controller can be reached. Throws {@link FetchFailedException}.
     *
     * @param controllers a URL, or several that are separated by commas: if a controller fails, the next one is used
     */
    public static Shardwright connect(String controllers, String name, ShardAccess access, Options options) {
        return new Shardwright(controllers, name, access, options);
    }

    /** Ends the threads, and closes the connections that the library has opened. */
    @Override
    public void close() {
        if (load != null) {
            load.close();
        }
        feed.close();
        pools.close();
    }

    /** Returns the cached version of the map, for many lookups that belong together. These lookups are not counted. */
    public Routes routes() {
        return feed.cache().routes();
    }

    /**
     * Returns the shard that owns {@code key}, according to the cached map.
     *
     * <p>Throws a {@link RouteException} if no shard owns the key, if the value is not a key of this map, or if the map
     * is too old ({@link Options.Builder#maxStaleness}).
     *
     * @param key a {@code Long}, {@code Integer}, {@code BigInteger}, {@code String}, {@code UUID}, {@code byte[]},
     *     {@code LocalDate}, {@code Instant}, {@code OffsetDateTime} or {@code ZonedDateTime}; a list of these is a
     *     composite key
     */
    public String shardFor(Object key) {
        return countedShardFor(key);
    }

    /** Returns the counters of the library. */
    public Stats stats() {
        return counters.stats(routes().version(), feed.cache().silence());
    }

    /** Returns what shadow mode has found; nothing without a {@link ShadowAccess}. */
    public Optional<Shadow> shadow() {
        return Optional.ofNullable(shadow);
    }

    /** As {@link #transactionResult(Object, Work)}, for work without a result. */
    public <E extends Exception> void transaction(Object key, VoidWork<E> work) throws SQLException, E {
        transaction(key, TransactionOptions.DEFAULT, work);
    }

    /** As {@link #transactionResult(Object, TransactionOptions, Work)}, for work without a result. */
    public <E extends Exception> void transaction(Object key, TransactionOptions kind, VoidWork<E> work)
            throws SQLException, E {
        Work<Void, E> returning = connection -> {
            work.run(connection);
            return null;
        };
        transactionResult(key, kind, returning);
    }

    /** As {@link #transactionResult(Object, TransactionOptions, Work)}, with the default options. */
    public <T, E extends Exception> T transactionResult(Object key, Work<T, E> work) throws SQLException, E {
        return transactionResult(key, TransactionOptions.DEFAULT, work);
    }

    /**
     * Runs {@code work} in a transaction on the shard that owns {@code key}, and commits the transaction.
     *
     * <p>{@code work} runs again from its start, on the shard of the newest map, if the shard refuses the key, after a
     * serialization failure or a deadlock, and if the connection is lost before the commit was sent. Therefore effects
     * of {@code work} outside the database must permit a repetition.
     *
     * <p>Throws {@link CommitUnknownException} if the connection is lost during the commit. Every other error means
     * that the library committed nothing. Exceptions of {@code work} are thrown unchanged.
     */
    public <T, E extends Exception> T transactionResult(Object key, TransactionOptions kind, Work<T, E> work)
            throws SQLException, E {
        countedShardFor(key);
        BiFunction<String, Throwable, ShardwrightException> giveUp =
                (note, cause) -> new GaveUpException("key " + routes().display(key) + ": " + note, cause);
        String begin = kind.firstStatements();
        Work<T, E> recorded = shadow == null ? work : shadow.recorded(key, work);
        // Each version can have other key types.
        return repeat(() -> freshRoutes().shardFor(key), begin, recorded, giveUp);
    }

    /** As {@link #onAll(int, Query)}, on eight shards at the same time. */
    public <T> FanOut<T> onAll(Query<T> query) {
        return onAll(QUERIES_AT_ONCE, query);
    }

    /**
     * Runs a query on every shard that owns keys, on at most {@code limit} at the same time, each in a thread of its
     * own.
     *
     * <p>Each runs in a read-only transaction with one snapshot, and again from its start if a connection is lost. If a
     * shard does not answer, the result contains its error and the answers of the others.
     */
    public <T> FanOut<T> onAll(int limit, Query<T> query) {
        Routes used = freshRoutes();
        List<Part> parts = used.shards().stream().map(shard -> new Part(shard, used.ownedBy(shard))).toList();
        Map<String, FanOut.Answer<T>> answers = new LinkedHashMap<>();
        int count = Math.max(1, Math.min(limit, parts.size()));
        ExecutorService threads = Executors.newFixedThreadPool(count, FanOut::thread);
        try {
            List<Future<FanOut.Answer<T>>> running = new ArrayList<>();
            Query<T> recorded = shadow == null ? query : shadow.recorded(query);
            parts.forEach(part -> running.add(threads.submit(() -> answerOf(part, recorded))));
            for (int at = 0; at < parts.size(); at += 1) {
                answers.put(parts.get(at).shard(), running.get(at).get());
            }
        } catch (InterruptedException error) {
            throw interrupted(error);
        } catch (ExecutionException error) {
            // Exceptions are answers, so this is an error of the virtual machine.
            throw new IllegalStateException(error.getCause());
        } finally {
            threads.shutdownNow();
        }
        long version = routes().version();
        OptionalLong newer = version == used.version() ? OptionalLong.empty() : OptionalLong.of(version);
        return new FanOut<>(used.version(), newer, Collections.unmodifiableMap(answers));
    }

    private <T> FanOut.Answer<T> answerOf(Part part, Query<T> query) {
        BiFunction<String, Throwable, ShardwrightException> giveUp =
                (note, cause) -> new NoAnswerException("shard " + part.shard() + ": " + note, cause);
        try {
            Work<T, SQLException> work = connection -> query.run(part, connection);
            return new FanOut.Answer<>(repeat(part::shard, TransactionOptions.READ_ONLY, work, giveUp), null);
        } catch (SQLException | RuntimeException error) {
            return new FanOut.Answer<>(null, error);
        }
    }

    /** Runs attempts until one succeeds, or until an error ends them. */
    private <T, E extends Exception> T repeat(
            Supplier<String> shardOf,
            String begin,
            Work<T, E> work,
            BiFunction<String, Throwable, ShardwrightException> giveUp)
            throws SQLException, E {
        Retries retries = new Retries(options, counters, giveUp);
        while (true) {
            long version = routes().version();
            Attempt attempt = retries.start(shardOf.get());
            try {
                return transact(attempt, begin, work);
            } catch (Exception error) {
                Duration pause = retries.pauseAfter(error, attempt);
                if (pause == null) {
                    throw error;
                }
                // A newer map ends the pause early, regardless of the reason for the pause.
                waitForNewer(version, pause);
            }
        }
    }

    private void waitForNewer(long version, Duration pause) {
        try {
            feed.waitForNewer(version, pause);
        } catch (InterruptedException error) {
            throw interrupted(error);
        }
    }

    private static InterruptedRetryException interrupted(InterruptedException error) {
        Thread.currentThread().interrupt();
        return new InterruptedRetryException("the thread was interrupted while it waited", error);
    }

    private <T, E extends Exception> T transact(Attempt attempt, String begin, Work<T, E> work)
            throws SQLException, E {
        Pool pool = pools.poolOf(attempt.shard);
        Loan loan = takeFrom(pool);
        try {
            attempt.stage = Attempt.Stage.WORK;
            loan.begin(begin);
            GuardedConnection guard = new GuardedConnection(loan, attempt.shard);
            T result = work.run(guard.connection());
            guard.checkBeforeCommit();
            if (!begin.equals(TransactionOptions.READ_ONLY)) {
                attempt.stage = Attempt.Stage.COMMIT;
                loan.connection().commit();
            }
            return result;
        } finally {
            attempt.isLost = loan.isLost();
            pool.giveBack(loan);
        }
    }

    private static Loan takeFrom(Pool pool) throws SQLException {
        try {
            return pool.take();
        } catch (InterruptedException error) {
            throw interrupted(error);
        }
    }

    /** Returns the shard that owns a key. Counts the lookup. */
    private String countedShardFor(Object value) {
        counters.lookups.increment();
        try {
            Routes fresh = freshRoutes();
            Key key = fresh.accept(value);
            String shard = fresh.shardOf(key);
            if (load != null) {
                load.count(fresh, key);
            }
            return shard;
        } catch (RouteException error) {
            counters.lookupsRefused.increment();
            throw error;
        }
    }

    /** Returns the cached map, unless it is older than {@code maxStaleness}. */
    private Routes freshRoutes() {
        Routes cached = routes();
        Duration silence = feed.cache().silence();
        if (options.maxStaleness == null || silence.compareTo(options.maxStaleness) <= 0) {
            return cached;
        }
        String time = String.format(Locale.ROOT, "%.1f", silence.toMillis() / 1000.0);
        throw new StaleException("map " + cached.name() + " version " + cached.version()
                + " may be out of date: no controller has answered for " + time + " s");
    }

    /** Waits until the library uses at least this version; for tests. */
    void awaitVersion(long version) throws InterruptedException {
        while (routes().version() < version) {
            feed.cache().awaitNewer(version - 1, Duration.ofMinutes(1));
        }
    }
}
