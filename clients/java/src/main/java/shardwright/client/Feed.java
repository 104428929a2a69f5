package shardwright.client;

import java.io.IOException;
import java.lang.System.Logger.Level;
import java.nio.ByteBuffer;
import java.security.GeneralSecurityException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;

/**
 * Follows the changes of the map.
 *
 * <p>The thread reads the map once, then follows the change feed. If the feed breaks, it makes a pause with jitter,
 * reads the map and opens the feed again; if a controller has failed, it uses the next one. The cache answers during
 * all of this.
 */
final class Feed implements AutoCloseable {
    private static final System.Logger LOG = System.getLogger("shardwright");
    private static final Duration FIRST_PAUSE = Duration.ofMillis(20);
    private static final Duration LONGEST_PAUSE = Duration.ofSeconds(2);
    /** If the feed is silent for longer than this, it counts as broken. The controller sends comments more often. */
    private static final Duration MAX_SILENCE = Duration.ofSeconds(45);
    /** The least time between two reads in addition to the feed. */
    private static final Duration MIN_READ_INTERVAL = Duration.ofMillis(200);

    private final Controllers controllers;
    private final Counters counters;
    private final MapCache cache;
    private final Duration readAfter;
    private final AtomicLong lastExtraRead = new AtomicLong(System.nanoTime() - MIN_READ_INTERVAL.toNanos());
    private final Thread thread;
    private volatile boolean isClosed;

    private Feed(Controllers controllers, Options options, Counters counters, Routes first, Consumer<Routes> onNewer) {
        this.controllers = controllers;
        this.counters = counters;
        cache = new MapCache(first, counters, onNewer);
        Duration half = options.maxStaleness == null ? MAX_SILENCE : options.maxStaleness.dividedBy(2);
        Duration atLeast = half.compareTo(MIN_READ_INTERVAL) < 0 ? MIN_READ_INTERVAL : half;
        readAfter = atLeast.compareTo(MAX_SILENCE) > 0 ? MAX_SILENCE : atLeast;
        thread = new Thread(this::follow, "shardwright map " + first.name());
        thread.setDaemon(true);
        thread.start();
    }

    /**
     * Reads the map and begins to follow it. Throws {@code FetchFailedException} if no controller returns the map now.
     */
    static Feed open(String urls, String name, Options options, Counters counters, Consumer<Routes> onNewer) {
        Controllers controllers;
        try {
            controllers = new Controllers(urls, name, options);
        } catch (IOException | GeneralSecurityException error) {
            String where = "the certificates in " + options.caFile;
            throw new FetchFailedException(where + " cannot be read: " + error, error);
        }
        String where = "map " + name + " could not be read from " + String.join(", ", controllers.urls());
        try {
            return new Feed(controllers, options, counters, read(controllers), onNewer);
        } catch (IOException | MapException error) {
            String reason = error.getMessage() == null ? error.getClass().getSimpleName() : error.getMessage();
            throw new FetchFailedException(where + ": " + reason, error);
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            throw new FetchFailedException(where + ": the thread was interrupted", error);
        }
    }

    MapCache cache() {
        return cache;
    }

    Controllers controllers() {
        return controllers;
    }

    /** Ends the thread and its connections. */
    @Override
    public void close() {
        isClosed = true;
        thread.interrupt();
    }

    /**
     * Waits until the cache has a version above {@code known}, but for at most the pause. Then it reads the map itself.
     */
    void waitForNewer(long known, Duration pause) throws InterruptedException {
        if (!cache.awaitNewer(known, pause)) {
            readAgain();
        }
    }

    /** Reads the map in addition to the feed, in case the feed is broken, but not too often. */
    private void readAgain() throws InterruptedException {
        long last = lastExtraRead.get();
        long now = System.nanoTime();
        if (now - last < MIN_READ_INTERVAL.toNanos() || !lastExtraRead.compareAndSet(last, now)) {
            return;
        }
        try {
            readIntoCache();
        } catch (IOException | MapException error) {
            LOG.log(Level.DEBUG, "the map was not read", error);
        }
    }

    private void readIntoCache() throws IOException, InterruptedException {
        Routes routes = read(controllers);
        cache.recordAnswer();
        cache.offer(routes);
    }

    private void follow() {
        Pauses pauses = new Pauses(FIRST_PAUSE, LONGEST_PAUSE);
        while (!isClosed) {
            String url = controllers.current();
            try {
                followFeed(url);
                pauses = new Pauses(FIRST_PAUSE, LONGEST_PAUSE);
            } catch (IOException | MapException error) {
                LOG.log(Level.DEBUG, "the feed was interrupted", error);
                controllers.switchAfterFailure(url);
            } catch (InterruptedException error) {
                continue;
            } catch (RuntimeException error) {
                LOG.log(Level.WARNING, "the feed failed", error);
                controllers.switchAfterFailure(url);
            }
            try {
                Thread.sleep(pauses.next().toMillis());
            } catch (InterruptedException error) {
                continue;
            }
            counters.reconnects.increment();
        }
    }

    /** Follows the feed until it ends or is silent for too long. */
    private void followFeed(String url) throws IOException, InterruptedException {
        try (Chunks chunks = controllers.openFeed(url)) {
            // This read finds a version that was created between the last read and the start of the feed.
            readIntoCache();
            EventParser parser = new EventParser();
            for (List<ByteBuffer> next = nextOf(chunks); !next.isEmpty(); next = nextOf(chunks)) {
                cache.recordAnswer();
                for (ByteBuffer bytes : next) {
                    for (EventParser.Event event : parser.push(bytes)) {
                        if (event.name().equals("map")) {
                            cache.offer(new Routes(event.data()));
                        }
                    }
                }
            }
        }
    }

    /** The next bytes of the feed. Reads the map in addition while none arrive. */
    private List<ByteBuffer> nextOf(Chunks chunks) throws IOException, InterruptedException {
        long began = System.nanoTime();
        List<ByteBuffer> next = chunks.next(readAfter);
        while (next == null) {
            if (System.nanoTime() - began >= MAX_SILENCE.toNanos()) {
                throw new IOException("the feed is silent");
            }
            readIntoCache();
            next = chunks.next(readAfter);
        }
        return next;
    }

    /** Sends a request to each controller until one answers. */
    private static Routes read(Controllers controllers) throws IOException, InterruptedException {
        IOException failure = null;
        for (int tried = 0; tried < controllers.urls().size(); tried += 1) {
            String url = controllers.current();
            try {
                return new Routes(controllers.read(url));
            } catch (IOException | MapException error) {
                controllers.switchAfterFailure(url);
                boolean isAnswered = error instanceof MapException;
                failure = isAnswered ? new IOException(error.getMessage(), error) : (IOException) error;
            }
        }
        throw failure;
    }
}
