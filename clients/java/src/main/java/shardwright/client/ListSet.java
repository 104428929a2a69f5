package shardwright.client;

import java.util.List;
import java.util.Set;

/** Single keys. */
final class ListSet extends KeySet {
    private final Set<Key> keys;

    ListSet(List<KeyType> types, Set<Key> keys) {
        super(types);
        this.keys = keys;
    }

    @Override
    boolean containsKey(Key key) {
        return keys.contains(key);
    }

    @Override
    List<String> conditions(List<String> columns) {
        List<Key> sorted = keys.stream().sorted().toList();
        return sorted.isEmpty() ? List.of() : List.of(Predicate.ofList(types(), columns, sorted));
    }
}
