package shardwright.client;

import java.time.Duration;
import java.util.concurrent.atomic.LongAdder;

/** Counters that several threads increment. */
final class Counters {
    final LongAdder lookups = new LongAdder();
    final LongAdder lookupsRefused = new LongAdder();
    final LongAdder retries = new LongAdder();
    final LongAdder notOwner = new LongAdder();
    final LongAdder notOpen = new LongAdder();
    final LongAdder refreshes = new LongAdder();
    final LongAdder reconnects = new LongAdder();
    final LongAdder commitsUnknown = new LongAdder();

    Stats stats(long version, Duration silence) {
        return new Stats(
                lookups.sum(),
                lookupsRefused.sum(),
                retries.sum(),
                notOwner.sum(),
                notOpen.sum(),
                refreshes.sum(),
                reconnects.sum(),
                commitsUnknown.sum(),
                version,
                silence);
    }
}
