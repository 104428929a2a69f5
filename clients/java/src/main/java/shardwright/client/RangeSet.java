package shardwright.client;

import java.util.List;

/** Ranges of keys, in normal form. */
final class RangeSet extends KeySet {
    private final List<Interval<Key>> ranges;

    RangeSet(List<KeyType> types, List<Interval<Key>> ranges) {
        super(types);
        this.ranges = Interval.joined(ranges);
    }

    @Override
    boolean containsKey(Key key) {
        return ranges.stream().anyMatch(range -> range.contains(key));
    }

    @Override
    List<String> conditions(List<String> columns) {
        return ranges.stream().map(range -> Predicate.ofRange(types(), columns, range)).toList();
    }
}
