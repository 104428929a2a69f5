package shardwright.client;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** An interval of places, which contains its start and excludes its end; null is unbounded. */
record Interval<P extends Comparable<P>>(P start, P end) {
    boolean contains(P place) {
        return (start == null || start.compareTo(place) <= 0) && (end == null || place.compareTo(end) < 0);
    }

    boolean isEmpty() {
        return start != null && end != null && start.compareTo(end) >= 0;
    }

    /** Intervals in order, without empty ones, with adjacent and overlapping ones joined. */
    static <P extends Comparable<P>> List<Interval<P>> joined(List<Interval<P>> intervals) {
        List<Interval<P>> sorted = new ArrayList<>(intervals);
        sorted.removeIf(Interval::isEmpty);
        sorted.sort(Comparator.comparing(Interval::start, Comparator.nullsFirst(Comparator.naturalOrder())));
        List<Interval<P>> merged = new ArrayList<>();
        for (Interval<P> next : sorted) {
            Interval<P> last = merged.isEmpty() ? null : merged.get(merged.size() - 1);
            if (last == null || last.end != null && next.start != null && next.start.compareTo(last.end) > 0) {
                merged.add(next);
            } else if (last.end != null && (next.end == null || next.end.compareTo(last.end) > 0)) {
                merged.set(merged.size() - 1, new Interval<>(last.start, next.end));
            }
        }
        return List.copyOf(merged);
    }
}
