package shardwright.client;

import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.List;

/** PostgreSQL's 64-bit hashes with seed 0: Bob Jenkins' lookup3, as in {@code hash_bytes_extended}. */
final class Hash {
    private static final int START = 0x9e37_79b9 + 3_923_095;

    private Hash() {}

    /** The number of the key's virtual shard among {@code of}, a power of two. */
    static int bucket(List<KeyType> types, Key key, int of) {
        return (int) (hash64(types, key) & (of - 1));
    }

    /** The hash of a key; of a composite key that of a record. */
    static long hash64(List<KeyType> types, Key key) {
        if (key.size() == 1) {
            return ofColumn(types.get(0), key.column(0));
        }
        long total = 0;
        for (int at = 0; at < key.size(); at += 1) {
            total = (total << 5) - total + ofColumn(types.get(at), key.column(at));
        }
        return total;
    }

    private static long ofColumn(KeyType type, Object column) {
        if (column instanceof Long number) {
            return type == KeyType.DATE ? ofWord(number.intValue()) : ofInt8(number);
        }
        byte[] bytes = (byte[]) column;
        if (type == KeyType.BYTEA) {
            return ofBytes(HexFormat.of().formatHex(bytes).getBytes(StandardCharsets.US_ASCII));
        }
        return ofBytes(bytes);
    }

    /** The hash of an integer, and of a time, as in {@code hashint8extended}. */
    static long ofInt8(long value) {
        int high = (int) (value >> 32);
        return ofWord((int) value ^ (value >= 0 ? high : ~high));
    }

    private static long ofWord(int word) {
        int start = START + 4;
        return finish(start + word, start, start);
    }

    private static long ofBytes(byte[] bytes) {
        int a = START + bytes.length;
        int b = a;
        int c = a;
        int whole = bytes.length - bytes.length % 12;
        for (int at = 0; at < whole; at += 12) {
            a += word(bytes, at, 4);
            b += word(bytes, at + 4, 4);
            c += word(bytes, at + 8, 4);
            a = (a - c) ^ Integer.rotateLeft(c, 4);
            c += b;
            b = (b - a) ^ Integer.rotateLeft(a, 6);
            a += c;
            c = (c - b) ^ Integer.rotateLeft(b, 8);
            b += a;
            a = (a - c) ^ Integer.rotateLeft(c, 16);
            c += b;
            b = (b - a) ^ Integer.rotateLeft(a, 19);
            a += c;
            c = (c - b) ^ Integer.rotateLeft(b, 4);
            b += a;
        }
        a += word(bytes, whole, 4);
        b += word(bytes, whole + 4, 4);
        // The lowest byte of the third word is that of the length.
        c += word(bytes, whole + 8, 3) << 8;
        return finish(a, b, c);
    }

    /** Up to {@code length} bytes as a little-endian word. */
    private static int word(byte[] bytes, int at, int length) {
        int word = 0;
        for (int index = Math.min(at + length, bytes.length) - 1; index >= at; index -= 1) {
            word = word << 8 | bytes[index] & 0xff;
        }
        return word;
    }

    private static long finish(int first, int second, int third) {
        int a = first;
        int b = second;
        int c = (third ^ b) - Integer.rotateLeft(b, 14);
        a = (a ^ c) - Integer.rotateLeft(c, 11);
        b = (b ^ a) - Integer.rotateLeft(a, 25);
        c = (c ^ b) - Integer.rotateLeft(b, 16);
        a = (a ^ c) - Integer.rotateLeft(c, 4);
        b = (b ^ a) - Integer.rotateLeft(a, 14);
        c = (c ^ b) - Integer.rotateLeft(b, 24);
        return (b & 0xffff_ffffL) << 32 | c & 0xffff_ffffL;
    }
}
