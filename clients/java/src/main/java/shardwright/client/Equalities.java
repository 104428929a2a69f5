package shardwright.client;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** The columns that are equal to each other in a statement, and their values. */
final class Equalities {
    private final Map<ColumnPlace, List<ColumnPlace>> equal = new HashMap<>();
    private final Map<ColumnPlace, List<FixedValue>> values = new HashMap<>();

    void unite(ColumnPlace one, ColumnPlace other) {
        equal.computeIfAbsent(one, place -> new ArrayList<>()).add(other);
        equal.computeIfAbsent(other, place -> new ArrayList<>()).add(one);
    }

    /** The column has one of these values; the first condition counts. */
    void fix(ColumnPlace place, List<FixedValue> found) {
        values.putIfAbsent(place, found);
    }

    void replace(ColumnPlace place, List<FixedValue> found) {
        values.put(place, found);
    }

    /** The values of a column, or of one that is equal to it; nothing if they are not fixed. */
    Optional<List<FixedValue>> valuesOf(ColumnPlace place) {
        Deque<ColumnPlace> waiting = new ArrayDeque<>(List.of(place));
        Set<ColumnPlace> passed = new HashSet<>(waiting);
        while (!waiting.isEmpty()) {
            ColumnPlace here = waiting.pop();
            if (values.containsKey(here)) {
                return Optional.of(values.get(here));
            }
            for (ColumnPlace there : equal.getOrDefault(here, List.of())) {
                if (passed.add(there)) {
                    waiting.push(there);
                }
            }
        }
        return Optional.empty();
    }
}
