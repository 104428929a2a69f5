package shardwright.client;

import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Counts which keys are used most, in the current window.
 *
 * <p>The memory is limited (a Misra-Gries summary): of {@code n} uses in a window at most {@code n / MAX_KEYS} are not
 * counted for any key, so a report contains every key with more uses than that. If the key of the map changes, the
 * counts of the former key are lost.
 */
final class LoadSummary {
    /** The maximum number of keys in a report. */
    static final int MAX_KEYS = 512;

    /**
     * The uses of a window.
     *
     * @param types the types of its keys
     * @param counts the keys with the numbers of their uses, the most used first
     */
    record Window(List<KeyType> types, List<Map.Entry<Key, Long>> counts) {}

    private Map<Key, Long> counts = new HashMap<>();
    private Routes routes;

    LoadSummary(Routes first) {
        routes = first;
    }

    /** Counts one use of a key of a version of the map. */
    synchronized void count(Routes used, Key key) {
        if (used != routes) {
            if (!used.hasSameKeyAs(routes)) {
                counts.clear();
            }
            routes = used;
        }
        if (counts.size() >= 2 * MAX_KEYS && !counts.containsKey(key)) {
            reduce();
        }
        counts.merge(key, 1L, Long::sum);
    }

    /** Ends the window. */
    Window take() {
        Map<Key, Long> taken;
        List<KeyType> types;
        synchronized (this) {
            types = routes.keyTypes();
            taken = counts;
            counts = new HashMap<>();
        }
        Comparator<Map.Entry<Key, Long>> mostUsed = Map.Entry.comparingByValue(Comparator.reverseOrder());
        Comparator<Map.Entry<Key, Long>> reported = mostUsed.thenComparing(Map.Entry.comparingByKey());
        return new Window(types, taken.entrySet().stream().sorted(reported).limit(MAX_KEYS).toList());
    }

    /** Subtracts the count that has exactly {@code MAX_KEYS} others before it from every count. */
    private void reduce() {
        List<Long> sorted = counts.values().stream().sorted(Comparator.reverseOrder()).toList();
        long subtracted = sorted.get(MAX_KEYS);
        counts.values().removeIf(count -> count <= subtracted);
        counts.replaceAll((key, count) -> count - subtracted);
    }
}
