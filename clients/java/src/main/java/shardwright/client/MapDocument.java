package shardwright.client;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;

/**
 * The JSON of a shard map (docs/types.md). Unknown fields are ignored, as the API requires.
 *
 * <p>The mappings are read one by one, after the fields that say how: in the text they may come before these.
 */
final class MapDocument {
    /** A set of keys; exactly one part is present. */
    record KeyDocument(List<Interval<Key>> ranges, Buckets buckets, List<Key> single) {}

    /** Ranges of virtual shards, and single keys that differ from their virtual shard. */
    record Buckets(long of, List<Interval<Long>> ranges, List<Key> exceptions) {}

    /** A set of keys and its owner. */
    record Mapping(KeyDocument keys, String shard) {}

    private final JsonReader reader;
    private final Map<String, Object> fields;
    private final int mappings;
    private final List<KeyType> types;

    MapDocument(byte[] text) {
        reader = new JsonReader(text);
        fields = new HashMap<>();
        int position = -1;
        reader.begin('{');
        for (String name = reader.name(true); name != null; name = reader.name(false)) {
            if (name.equals("mappings")) {
                reader.peek();
                position = reader.position();
                reader.skip();
            } else {
                fields.put(name, reader.value());
            }
        }
        reader.end();
        if (position < 0) {
            throw new MapException("the JSON is not a shard map: mappings are missing");
        }
        mappings = position;
        types = strings("key").stream().map(KeyType::of).toList();
    }

    List<KeyType> types() {
        return types;
    }

    String string(String name) {
        return field(name, String.class);
    }

    /** The settings of the map; empty if they are missing. */
    Map<?, ?> settings() {
        return Tree.of(fields.get("settings")).fields();
    }

    long number(String name, long missing) {
        return fields.containsKey(name) ? field(name, Long.class) : missing;
    }

    private <T> T field(String name, Class<T> type) {
        if (!type.isInstance(fields.get(name))) {
            throw new MapException("the JSON is not a shard map: its field " + name + " is missing or of another type");
        }
        return type.cast(fields.get(name));
    }

    private List<String> strings(String name) {
        List<String> strings = new ArrayList<>();
        for (Object value : field(name, List.class)) {
            strings.add(String.valueOf(value));
        }
        return strings;
    }

    /** Reads the mappings. */
    void forEachMapping(Consumer<Mapping> consumer) {
        reader.moveTo(mappings);
        reader.begin('[');
        for (boolean more = reader.next(true); more; more = reader.next(false)) {
            KeyDocument keys = null;
            String shard = null;
            reader.begin('{');
            for (String name = reader.name(true); name != null; name = reader.name(false)) {
                switch (name) {
                    case "keys" -> keys = readKeys(reader, types);
                    case "shard" -> shard = reader.string();
                    default -> reader.skip();
                }
            }
            if (keys == null || shard == null) {
                throw new MapException("the JSON is not a shard map: a mapping has no keys or no shard");
            }
            consumer.accept(new Mapping(keys, shard));
        }
    }

    /** Reads a set of keys. */
    static KeyDocument readKeys(JsonReader reader, List<KeyType> types) {
        List<Interval<Key>> ranges = null;
        Buckets buckets = null;
        List<Key> single = null;
        reader.begin('{');
        for (String name = reader.name(true); name != null; name = reader.name(false)) {
            switch (name) {
                case "range" -> ranges = readRanges(reader, types);
                case "hash" -> buckets = readBuckets(reader, types);
                case "list" -> single = readSingle(reader, types);
                default -> reader.skip();
            }
        }
        return new KeyDocument(ranges, buckets, single);
    }

    private static List<Interval<Key>> readRanges(JsonReader reader, List<KeyType> types) {
        List<Interval<Key>> ranges = new ArrayList<>(1);
        reader.begin('[');
        for (boolean more = reader.next(true); more; more = reader.next(false)) {
            Object[] ends = readEnds(reader);
            Key start = ends[0] == null ? null : Keys.acceptEnd(types, ends[0]);
            Key end = ends[1] == null ? null : Keys.acceptEnd(types, ends[1]);
            ranges.add(new Interval<>(start, end));
        }
        return ranges;
    }

    private static Object[] readEnds(JsonReader reader) {
        Object[] ends = new Object[2];
        reader.begin('{');
        for (String name = reader.name(true); name != null; name = reader.name(false)) {
            switch (name) {
                case "from" -> ends[0] = reader.value();
                case "to" -> ends[1] = reader.value();
                default -> reader.skip();
            }
        }
        return ends;
    }

    private static Buckets readBuckets(JsonReader reader, List<KeyType> types) {
        long of = 0;
        List<Interval<Long>> ranges = new ArrayList<>();
        List<Key> exceptions = new ArrayList<>();
        reader.begin('{');
        for (String name = reader.name(true); name != null; name = reader.name(false)) {
            switch (name) {
                case "of" -> of = integer(reader.value());
                case "ranges" -> {
                    reader.begin('[');
                    for (boolean more = reader.next(true); more; more = reader.next(false)) {
                        Object[] ends = readEnds(reader);
                        ranges.add(new Interval<>(integer(ends[0]), integer(ends[1])));
                    }
                }
                case "except" -> exceptions = readSingle(reader, types);
                default -> reader.skip();
            }
        }
        return new Buckets(of, ranges, exceptions);
    }

    private static long integer(Object value) {
        if (value instanceof Long number) {
            return number;
        }
        throw new MapException("the JSON is not a shard map: " + value + " is no number of a virtual shard");
    }

    private static List<Key> readSingle(JsonReader reader, List<KeyType> types) {
        List<Key> keys = new ArrayList<>();
        reader.begin('[');
        for (boolean more = reader.next(true); more; more = reader.next(false)) {
            keys.add(Keys.accept(types, reader.value()));
        }
        return keys;
    }

    /** The set of keys by itself. */
    static KeySet toKeySet(List<KeyType> types, KeyDocument keys) {
        if (keys.buckets() != null) {
            Buckets buckets = keys.buckets();
            return new BucketSet(types, (int) buckets.of(), buckets.ranges(), Set.copyOf(buckets.exceptions()));
        } else if (keys.single() != null) {
            return new ListSet(types, Set.copyOf(keys.single()));
        } else if (keys.ranges() == null) {
            throw new MapException("a set of keys has neither ranges nor virtual shards nor a list");
        }
        return new RangeSet(types, keys.ranges());
    }
}
