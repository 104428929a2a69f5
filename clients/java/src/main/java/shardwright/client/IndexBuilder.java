package shardwright.client;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/** Checks the mappings of a map, and builds its index. Throws {@code MapException}. */
final class IndexBuilder {
    /** A part of a mapping in key order. Owners are numbered in the order of the document until all are known. */
    private record Piece(Interval<Key> keys, int owner) {}

    private final Routes routes;
    private final Map<String, Integer> numbers = new HashMap<>();
    private final List<Piece> pieces = new ArrayList<>();
    private final Map<Key, Integer> exceptions = new HashMap<>();
    private final Set<Key> missing = new HashSet<>();

    IndexBuilder(Routes routes, MapDocument document) {
        this.routes = routes;
        document.forEachMapping(this::add);
        numberByName();
        for (Key key : missing) {
            if (!exceptions.containsKey(key)) {
                String shown = Keys.display(routes.keyTypes(), key);
                throw wrong("its virtual shards except key " + shown + ", which has no owner");
            }
        }
    }

    /** The shards, ordered by name. */
    List<String> shards() {
        return List.copyOf(new TreeSet<>(numbers.keySet()));
    }

    /** The owners of single keys that differ from their virtual shard. */
    Map<Key, Integer> exceptions() {
        return exceptions;
    }

    private void add(MapDocument.Mapping mapping) {
        int owner = numbers.computeIfAbsent(mapping.shard(), shard -> numbers.size() + 1);
        MapDocument.KeyDocument keys = mapping.keys();
        int before = pieces.size();
        switch (routes.strategy()) {
            case "range" -> {
                for (Interval<Key> range : keys.ranges() == null ? List.<Interval<Key>>of() : keys.ranges()) {
                    pieces.add(new Piece(range, owner));
                }
            }
            case "hash" -> {
                if (keys.buckets() != null) {
                    addBuckets(keys.buckets(), mapping.shard(), owner);
                    return;
                }
            }
            default -> {
                for (Key key : keys.single() == null ? List.<Key>of() : keys.single()) {
                    pieces.add(new Piece(new Interval<>(key, null), owner));
                }
            }
        }
        if (pieces.size() == before) {
            throw wrong("a key set of shard " + mapping.shard() + " is empty, or of another strategy");
        }
    }

    private void addBuckets(MapDocument.Buckets buckets, String shard, int owner) {
        boolean isWrong = buckets.of() != routes.buckets();
        for (Interval<Long> range : buckets.ranges()) {
            isWrong |= range.start() < 0 || range.start() > range.end() || range.end() > routes.buckets();
            pieces.add(new Piece(new Interval<>(new Key(range.start()), new Key(range.end())), owner));
        }
        if (isWrong) {
            throw wrong("virtual shards of " + shard + " are not those of the map");
        }
        for (Key key : buckets.exceptions()) {
            long bucket = Hash.bucket(routes.keyTypes(), key, routes.buckets());
            if (buckets.ranges().stream().anyMatch(range -> range.contains(bucket))) {
                missing.add(key);
            } else if (exceptions.merge(key, owner, (first, other) -> first.equals(other) ? first : 0) == 0) {
                throw wrong("key " + Keys.display(routes.keyTypes(), key) + " has two owners");
            }
        }
    }

    /** Numbers the owners in the order of their names. */
    private void numberByName() {
        List<String> shards = shards();
        int[] numberOf = new int[shards.size() + 1];
        for (int at = 0; at < shards.size(); at += 1) {
            numberOf[numbers.get(shards.get(at))] = at + 1;
        }
        pieces.replaceAll(piece -> new Piece(piece.keys(), numberOf[piece.owner()]));
        exceptions.replaceAll((key, owner) -> numberOf[owner]);
    }

    Index build() {
        boolean isHash = routes.buckets() > 0;
        boolean isNumeric = isHash || routes.keyTypes().size() == 1 && routes.keyTypes().get(0).isNumeric();
        pieces.removeIf(piece -> piece.keys().isEmpty());
        Comparator<Key> unboundedFirst = Comparator.nullsFirst(Comparator.naturalOrder());
        pieces.sort(Comparator.comparing(piece -> piece.keys().start(), unboundedFirst));
        Bounds bounds = new Bounds(isNumeric, 2 * pieces.size() + 1);
        if (routes.strategy().equals("list")) {
            addList(bounds);
        } else {
            addPieces(bounds);
        }
        return bounds.index();
    }

    private void addList(Bounds bounds) {
        Piece last = null;
        for (Piece piece : pieces) {
            boolean isKnown = last != null && last.keys().start().equals(piece.keys().start());
            if (isKnown && last.owner() != piece.owner()) {
                throw wrong("key " + Keys.display(routes.keyTypes(), piece.keys().start()) + " has two owners");
            } else if (!isKnown) {
                bounds.add(piece.keys().start(), piece.owner());
            }
            last = piece;
        }
    }

    private void addPieces(Bounds bounds) {
        Piece last = null;
        bounds.beginWith(pieces.isEmpty() || pieces.get(0).keys().start() != null ? 0 : pieces.get(0).owner());
        for (Piece piece : pieces) {
            Key start = piece.keys().start();
            Key lastEnd = last == null ? null : last.keys().end();
            if (last != null && start == null) {
                throw wrong("two ranges have no lower end");
            } else if (last != null && (lastEnd == null || start.compareTo(lastEnd) < 0)) {
                throw wrong("mappings overlap at " + shown(start));
            } else if (lastEnd != null && start.equals(lastEnd)) {
                bounds.replaceLast(piece.owner());
            } else if (start != null) {
                bounds.add(start, piece.owner());
            }
            if (piece.keys().end() != null) {
                bounds.add(piece.keys().end(), 0);
            }
            last = piece;
        }
    }

    private String shown(Key place) {
        boolean isHash = routes.buckets() > 0;
        return isHash ? "virtual shard " + place.number() : Keys.display(routes.keyTypes(), place);
    }

    private MapException wrong(String problem) {
        return new MapException("map " + routes.name() + ": " + problem);
    }

    /** The index while it grows. */
    private static final class Bounds {
        private final long[] numbers;
        private final Key[] keys;
        private final int[] owners;
        private int size;
        /** 1 if there is an owner below the first bound. */
        private int shift;

        Bounds(boolean isNumeric, int limit) {
            numbers = isNumeric ? new long[limit] : null;
            keys = isNumeric ? null : new Key[limit];
            owners = new int[limit + 1];
        }

        void beginWith(int owner) {
            owners[0] = owner;
            shift = 1;
        }

        void add(Key bound, int owner) {
            if (numbers == null) {
                keys[size] = bound;
            } else {
                numbers[size] = bound.number();
            }
            owners[size + shift] = owner;
            size += 1;
        }

        void replaceLast(int owner) {
            owners[size + shift - 1] = owner;
        }

        Index index() {
            long[] exactNumbers = numbers == null ? null : Arrays.copyOf(numbers, size);
            Key[] exactKeys = keys == null ? null : Arrays.copyOf(keys, size);
            return new Index(exactNumbers, exactKeys, Arrays.copyOf(owners, size + shift));
        }
    }
}
