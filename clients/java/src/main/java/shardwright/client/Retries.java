package shardwright.client;

import java.time.Duration;
import java.util.Locale;
import java.util.function.BiFunction;

/** The attempts of one call: whether another attempt follows a failed one, and the pause before it. */
final class Retries {
    private final Options options;
    private final Counters counters;
    private final BiFunction<String, Throwable, ShardwrightException> giveUp;
    private final Pauses pauses;
    private final long begun = System.nanoTime();
    private int attempts;

    /** {@code giveUp} makes the error after the last attempt, from a text and the cause. */
    Retries(Options options, Counters counters, BiFunction<String, Throwable, ShardwrightException> giveUp) {
        this.options = options;
        this.counters = counters;
        this.giveUp = giveUp;
        pauses = new Pauses(options.firstPause, options.longestPause);
    }

    Attempt start(String shard) {
        attempts += 1;
        return new Attempt(shard);
    }

    /**
     * Returns the pause before the next attempt; null if the application receives the error unchanged. Throws the error
     * of the library that the application receives instead.
     */
    Duration pauseAfter(Exception error, Attempt attempt) {
        if (error instanceof ShardwrightException) {
            return null;
        }
        if (attempt.stage == Attempt.Stage.COMMIT && !Remedy.isRefusedAtCommit(error)) {
            counters.commitsUnknown.increment();
            String lost = "the connection to shard " + attempt.shard + " was lost during the commit; ";
            throw new CommitUnknownException(lost + "the outcome of the transaction is unknown", error);
        }
        Remedy remedy = Remedy.of(error, attempt);
        if (remedy == Remedy.NONE) {
            if (attempt.stage == Attempt.Stage.CONNECT) {
                String what = "cannot connect to shard " + attempt.shard + ": ";
                throw new ConnectFailedException(what + error.getMessage(), error);
            }
            return null;
        }
        Duration pause = pauses.next();
        Duration waited = Duration.ofNanos(System.nanoTime() - begun);
        if (waited.plus(pause).compareTo(options.retryFor) > 0) {
            String time = String.format(Locale.ROOT, "%.1f", waited.toMillis() / 1000.0);
            String spent = "gave up after " + attempts + " attempt(s) in " + time + " s: ";
            throw giveUp.apply(spent + error.getMessage(), error);
        }
        count(remedy);
        return pause;
    }

    private void count(Remedy remedy) {
        counters.retries.increment();
        if (remedy == Remedy.REFRESH_NOT_OWNER) {
            counters.notOwner.increment();
        } else if (remedy == Remedy.REFRESH_NOT_OPEN) {
            counters.notOpen.increment();
        }
    }
}
