package shardwright.client;

import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;

/**
 * The newest known version of the map. A version is only replaced by a higher one. Threads can wait for a newer one.
 */
final class MapCache {
    private static final System.Logger LOG = System.getLogger("shardwright");

    private final Counters counters;
    private final Consumer<Routes> onNewer;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private volatile Routes routes;
    private volatile long lastAnswer = System.nanoTime();

    MapCache(Routes first, Counters counters, Consumer<Routes> onNewer) {
        routes = first;
        this.counters = counters;
        this.onNewer = onNewer;
    }

    Routes routes() {
        return routes;
    }

    /** The time since a controller last answered. */
    Duration silence() {
        return Duration.ofNanos(System.nanoTime() - lastAnswer);
    }

    /** Records that a controller has answered now. */
    void recordAnswer() {
        lastAnswer = System.nanoTime();
    }

    /** Replaces the cached map if this one is newer. */
    void offer(Routes offered) {
        lock.lock();
        try {
            if (!offered.incarnation().equals(routes.incarnation())) {
                // A lower version with another incarnation comes from a control store that was restored.
                LOG.log(Level.WARNING, describe(offered) + " comes from another control store");
            }
            if (offered.version() <= routes.version()) {
                return;
            }
            routes = offered;
            counters.refreshes.increment();
            changed.signalAll();
        } finally {
            lock.unlock();
        }
        LOG.log(Level.DEBUG, describe(offered) + " is in use");
        onNewer.accept(offered);
    }

    private static String describe(Routes routes) {
        return "map " + routes.name() + " version " + routes.version();
    }

    /**
     * Waits until the cache has a version above {@code known}, but not longer than the limit. Returns whether it has.
     */
    boolean awaitNewer(long known, Duration limit) throws InterruptedException {
        long left = limit.toNanos();
        lock.lockInterruptibly();
        try {
            while (routes.version() <= known && left > 0) {
                left = changed.awaitNanos(left);
            }
            return routes.version() > known;
        } finally {
            lock.unlock();
        }
    }
}
