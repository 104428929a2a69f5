package shardwright.client;

import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;

/** Pauses, each twice as long as the one before. Each is changed at random by up to a fifth. */
final class Pauses {
    private Duration next;
    private final Duration longest;

    Pauses(Duration first, Duration longest) {
        next = first;
        this.longest = longest;
    }

    Duration next() {
        Duration pause = Duration.ofNanos((long) (next.toNanos() * ThreadLocalRandom.current().nextDouble(0.8, 1.2)));
        Duration twice = next.multipliedBy(2);
        next = twice.compareTo(longest) < 0 ? twice : longest;
        return pause;
    }
}
