package shardwright.client;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;

/**
 * One version of a shard map, prepared for lookups: the version of a {@link Shardwright}, or a map from another source,
 * such as a file of {@code map show -o json}. It does not change, and several threads may use it.
 */
public final class Routes {
    private static final Set<String> STRATEGIES = Set.of("range", "hash", "list");
    private static final int MAX_BUCKETS = 1 << 24;

    private final String name;
    private final long version;
    private final String incarnation;
    private final String strategy;
    private final List<KeyType> keyTypes;
    private final int buckets;
    private final Map<?, ?> settings;
    private final List<String> shards;
    private final Index index;
    private final Map<Key, Integer> exceptions;

    /** Reads the JSON of a map, checks it and builds the index. Throws {@link MapException}. */
    public Routes(String json) {
        this(json.getBytes(StandardCharsets.UTF_8));
    }

    Routes(byte[] json) {
        MapDocument document = new MapDocument(json);
        name = document.string("name");
        version = document.number("version", -1);
        incarnation = document.string("incarnation");
        strategy = document.string("strategy");
        keyTypes = document.types();
        long wantedBuckets = document.number("buckets", 0);
        checkForm(wantedBuckets);
        buckets = (int) wantedBuckets;
        settings = document.settings();
        try {
            IndexBuilder builder = new IndexBuilder(this, document);
            shards = builder.shards();
            index = builder.build();
            exceptions = builder.exceptions();
        } catch (NotAKeyException error) {
            throw new MapException("map " + name + ": " + error.getMessage());
        }
    }

    private void checkForm(long wantedBuckets) {
        int columns = keyTypes.size();
        boolean isHash = strategy.equals("hash");
        boolean isPower = wantedBuckets > 0 && wantedBuckets <= MAX_BUCKETS && Long.bitCount(wantedBuckets) == 1;
        String problem = null;
        if (!STRATEGIES.contains(strategy)) {
            problem = "the strategy " + strategy + " is unknown to this version of the library";
        } else if (columns < 1 || columns > 3) {
            problem = "a key has 1 to 3 columns, not " + columns;
        } else if (columns > 1 && !strategy.equals("range")) {
            problem = "a " + strategy + " map has one key column, not " + columns;
        } else if (isHash && !isPower) {
            problem = wantedBuckets + " virtual shards are not a power of two up to " + MAX_BUCKETS;
        } else if (!isHash && wantedBuckets != 0) {
            problem = "a " + strategy + " map has no virtual shards";
        } else if (version < 0) {
            problem = "it has no version";
        }
        if (problem != null) {
            throw new MapException("map " + name + ": " + problem);
        }
    }

    /** Returns the name of the map. */
    public String name() {
        return name;
    }

    /** Returns the version of the map. */
    public long version() {
        return version;
    }

    /** Returns the identity of the control store that the map comes from. */
    public String incarnation() {
        return incarnation;
    }

    /** Returns the strategy: {@code range}, {@code hash} or {@code list}. */
    public String strategy() {
        return strategy;
    }

    /** Returns the types of the key's columns. */
    public List<KeyType> keyTypes() {
        return keyTypes;
    }

    /** Returns the number of virtual shards of a hash map; otherwise 0. */
    public int buckets() {
        return buckets;
    }

    /** Returns the shards that own keys, ordered by name. */
    public List<String> shards() {
        return shards;
    }

    /**
     * Returns the shard that owns {@code key}.
     *
     * <p>Throws {@link UnmappedException}, or {@link NotAKeyException} if it is no key of this map.
     */
    public String shardFor(Object key) {
        return shardOf(accept(key));
    }

    /** Returns all keys that {@code shard} owns. */
    public KeySet ownedBy(String shard) {
        // 0 would be the owner of what no shard owns.
        int number = shards.contains(shard) ? shards.indexOf(shard) + 1 : -1;
        if (strategy.equals("list")) {
            Set<Key> keys = new HashSet<>();
            for (int at = 0; at < index.size(); at += 1) {
                if (index.owners()[at] == number) {
                    keys.add(index.keyAt(at));
                }
            }
            return new ListSet(keyTypes, keys);
        }
        List<Interval<Key>> ranges = new ArrayList<>();
        for (int at = 0; at < index.owners().length; at += 1) {
            if (index.owners()[at] == number) {
                ranges.add(new Interval<>(index.keyAt(at - 1), index.keyAt(at)));
            }
        }
        return buckets == 0 ? new RangeSet(keyTypes, ranges) : bucketsOf(number, ranges);
    }

    private KeySet bucketsOf(int number, List<Interval<Key>> ranges) {
        List<Interval<Long>> numbers = ranges.stream()
                .map(range -> new Interval<>(range.start().number(), range.end().number()))
                .toList();
        BucketSet plain = new BucketSet(keyTypes, buckets, numbers, Set.of());
        Set<Key> different = new HashSet<>();
        exceptions.forEach((key, owner) -> {
            if (plain.hasBucketOf(key) != (owner == number)) {
                different.add(key);
            }
        });
        return new BucketSet(keyTypes, buckets, numbers, different);
    }

    /** The settings in the JSON of the map. */
    Map<?, ?> settings() {
        return settings;
    }

    /** Converts {@code key} to the key types of this map. Throws {@code NotAKeyException}. */
    Key accept(Object key) {
        try {
            return Keys.accept(keyTypes, key);
        } catch (NotAKeyException error) {
            throw new NotAKeyException(error.getMessage() + ", and so no key of map " + name);
        }
    }

    /** A key in messages. */
    String display(Object key) {
        try {
            return Keys.display(keyTypes, accept(key));
        } catch (NotAKeyException error) {
            return String.valueOf(key);
        }
    }

    /** Whether a key of the other version is the same key in this one: neither its types nor its columns differ. */
    boolean hasSameKeyAs(Routes other) {
        return keyTypes.equals(other.keyTypes) && Objects.equals(settings.get("tables"), other.settings.get("tables"));
    }

    /** The owner of a key that {@code accept} has converted. Throws {@code UnmappedException}. */
    String shardOf(Key key) {
        int owner = exceptions.isEmpty() ? 0 : exceptions.getOrDefault(key, 0);
        if (owner == 0) {
            owner = ownerInIndex(key);
        }
        if (owner == 0) {
            String shown = Keys.display(keyTypes, key);
            throw new UnmappedException("key " + shown + " is in no mapping of map " + name + " version " + version);
        }
        return shards.get(owner - 1);
    }

    private int ownerInIndex(Key key) {
        if (strategy.equals("list")) {
            return index.ownerOfListed(key);
        }
        return buckets > 0 ? index.ownerAt(Hash.bucket(keyTypes, key, buckets)) : index.ownerOf(key);
    }
}
