package shardwright.client;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/** Ranges of virtual shards in normal form, and single keys that differ from their virtual shard. */
final class BucketSet extends KeySet {
    private final int of;
    private final List<Interval<Long>> ranges;
    private final Set<Key> exceptions;

    BucketSet(List<KeyType> types, int of, List<Interval<Long>> ranges, Set<Key> exceptions) {
        super(types);
        this.of = of;
        this.ranges = Interval.joined(ranges);
        this.exceptions = exceptions;
    }

    @Override
    boolean containsKey(Key key) {
        return hasBucketOf(key) != exceptions.contains(key);
    }

    /** Whether the virtual shard of the key is in a range of the set. */
    boolean hasBucketOf(Key key) {
        long bucket = Hash.bucket(types(), key, of);
        return ranges.stream().anyMatch(range -> range.contains(bucket));
    }

    @Override
    List<String> conditions(List<String> columns) {
        List<String> conditions = new ArrayList<>(Predicate.ofBuckets(types(), columns, of, ranges));
        List<Key> missing = exceptions.stream().filter(this::hasBucketOf).sorted().toList();
        List<Key> single = exceptions.stream().filter(key -> !hasBucketOf(key)).sorted().toList();
        if (!missing.isEmpty()) {
            String unlisted = Predicate.ofList(types(), columns, missing);
            String listed = String.join(" or ", conditions);
            conditions = new ArrayList<>(List.of("((" + listed + ") and not " + unlisted + ")"));
        }
        if (!single.isEmpty()) {
            conditions.add(Predicate.ofList(types(), columns, single));
        }
        return conditions;
    }
}
