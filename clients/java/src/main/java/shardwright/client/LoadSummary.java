package shardwright.client;

import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Counts which keys are used most, in the current window.
 *
 * <p>The memory is limited (a Misra-Gries summary): of {@code n} uses in a window at most {@code n / MAX_KEYS} are not
 * counted for any key, so a report contains every key with more uses than that.
 */
final class LoadSummary {
    /** The maximum number of keys in a report. */
    static final int MAX_KEYS = 512;

    private Map<Key, Long> counts = new HashMap<>();

    /** Counts one use of a key. */
    synchronized void count(Key key) {
        if (counts.size() >= 2 * MAX_KEYS && !counts.containsKey(key)) {
            reduce();
        }
        counts.merge(key, 1L, Long::sum);
    }

    /** Ends the window. Returns the keys with the numbers of their uses, the most used first. */
    List<Map.Entry<Key, Long>> take() {
        Map<Key, Long> taken;
        synchronized (this) {
            taken = counts;
            counts = new HashMap<>();
        }
        Comparator<Map.Entry<Key, Long>> mostUsed = Map.Entry.comparingByValue(Comparator.reverseOrder());
        Comparator<Map.Entry<Key, Long>> reported = mostUsed.thenComparing(Map.Entry.comparingByKey());
        return taken.entrySet().stream().sorted(reported).limit(MAX_KEYS).toList();
    }

    /** Subtracts the count that has exactly {@code MAX_KEYS} others before it from every count. */
    private void reduce() {
        List<Long> sorted = counts.values().stream().sorted(Comparator.reverseOrder()).toList();
        long subtracted = sorted.get(MAX_KEYS);
        counts.values().removeIf(count -> count <= subtracted);
        counts.replaceAll((key, count) -> count - subtracted);
    }
}
