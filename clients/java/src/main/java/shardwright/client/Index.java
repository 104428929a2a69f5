package shardwright.client;

import java.util.Arrays;

/**
 * The bounds of a map's mappings in key order, or its listed keys, and for each the number of an owner.
 *
 * <p>The index of a list has an owner for each key. Otherwise there is one owner more: the owner below the first bound,
 * and then the owner from each bound on. 0 means that there is none. Numeric keys and virtual shards are stored without
 * an object for each, so that a map of a million keys needs about 12 MiB.
 */
record Index(long[] numbers, Key[] keys, int[] owners) {
    int size() {
        return numbers == null ? keys.length : numbers.length;
    }

    /** The owner of the interval with this number. */
    int ownerAt(long number) {
        int at = Arrays.binarySearch(numbers, number);
        return owners[at >= 0 ? at + 1 : -at - 1];
    }

    /** The owner of the range with this key. */
    int ownerOf(Key key) {
        if (numbers != null) {
            return ownerAt(key.number());
        }
        int at = Arrays.binarySearch(keys, key);
        return owners[at >= 0 ? at + 1 : -at - 1];
    }

    /** The owner of a listed key. */
    int ownerOfListed(Key key) {
        int at = numbers == null ? Arrays.binarySearch(keys, key) : Arrays.binarySearch(numbers, key.number());
        return at < 0 ? 0 : owners[at];
    }

    /** The bound or the listed key at a position; null below the first and above the last. */
    Key keyAt(int at) {
        if (at < 0 || at >= size()) {
            return null;
        }
        return numbers == null ? keys[at] : new Key(numbers[at]);
    }
}
