package shardwright.client;

import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.LocalDate;
import java.time.OffsetDateTime;
import java.time.ZonedDateTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.regex.Pattern;

/** Converts values of the application, and those of a map's JSON, to keys, and keys to texts. */
final class Keys {
    private static final Pattern INTEGER = Pattern.compile("[+-]?[0-9]+");
    private static final Pattern UUID_TEXT =
            Pattern.compile("[0-9a-fA-F]{32}|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}");
    private static final Pattern BYTEA = Pattern.compile("\\\\x(?:[0-9a-fA-F]{2})*");

    private Keys() {}

    /** Converts a value of the application to a key with these types. Throws {@code NotAKeyException}. */
    static Key accept(List<KeyType> types, Object value) {
        return accept(types, value, false);
    }

    /** Converts the end of a range. After the last value of a small integer type comes a value of a larger one. */
    static Key acceptEnd(List<KeyType> types, Object value) {
        return accept(types, value, true);
    }

    private static Key accept(List<KeyType> types, Object value, boolean isEnd) {
        List<?> parts = partsOf(value);
        if (parts.size() != types.size()) {
            String counts = " has " + parts.size() + " value(s), the key has " + types.size() + " column(s)";
            throw new NotAKeyException(shown(value) + counts);
        }
        Object[] columns = new Object[types.size()];
        for (int at = 0; at < columns.length; at += 1) {
            KeyType type = types.get(at);
            columns[at] = converted(isEnd && type.bits() > 0 ? KeyType.BIGINT : type, parts.get(at));
            if (columns[at] == null) {
                throw new NotAKeyException(shown(parts.get(at)) + " is not a " + type.jsonName());
            }
        }
        return new Key(columns);
    }

    private static List<?> partsOf(Object value) {
        if (value instanceof List<?> list) {
            return list;
        }
        return value instanceof Object[] array ? Arrays.asList(array) : Arrays.asList(value);
    }

    private static Object converted(KeyType type, Object original) {
        Object value = plain(type, original);
        if (value == null) {
            return null;
        }
        return switch (type) {
            case SMALLINT, INTEGER, BIGINT -> integer(type.bits(), value);
            case TEXT -> value instanceof String text ? utf8(text) : null;
            case UUID -> uuid(value);
            case BYTEA -> bytea(value);
            case DATE -> date(value);
            case TIMESTAMPTZ -> timestamp(value);
        };
    }

    /**
     * The value itself, or that of the form in JSON, such as {@code {"uuid": "…"}}; null if that is of another type.
     */
    private static Object plain(KeyType type, Object value) {
        if (!(value instanceof Map<?, ?> map)) {
            return value;
        }
        return map.size() == 1 && map.get(type.jsonName()) instanceof String text ? text : null;
    }

    private static Long integer(int bits, Object value) {
        long number;
        if (value instanceof Long || value instanceof Integer || value instanceof Short || value instanceof Byte) {
            number = ((Number) value).longValue();
        } else if (value instanceof BigInteger || value instanceof String text && INTEGER.matcher(text).matches()) {
            BigInteger large = new BigInteger(value.toString());
            if (large.bitLength() >= bits) {
                return null;
            }
            number = large.longValue();
        } else {
            return null;
        }
        int unused = Long.SIZE - bits;
        return number << unused >> unused == number ? number : null;
    }

    /** The bytes of a text that PostgreSQL can store: it has no zero, and no half of a surrogate pair. */
    private static byte[] utf8(String text) {
        for (int at = 0; at < text.length(); at += 1) {
            int letter = text.codePointAt(at);
            if (letter == 0 || letter >= Character.MIN_SURROGATE && letter <= Character.MAX_SURROGATE) {
                return null;
            }
            at += Character.charCount(letter) - 1;
        }
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static byte[] uuid(Object value) {
        if (value instanceof UUID uuid) {
            ByteBuffer bytes = ByteBuffer.allocate(16);
            return bytes.putLong(uuid.getMostSignificantBits()).putLong(uuid.getLeastSignificantBits()).array();
        }
        boolean isUuid = value instanceof String text && UUID_TEXT.matcher(text).matches();
        return isUuid ? HexFormat.of().parseHex(((String) value).replace("-", "")) : null;
    }

    private static byte[] bytea(Object value) {
        if (value instanceof byte[] bytes) {
            return bytes.clone();
        }
        boolean isBytea = value instanceof String text && BYTEA.matcher(text).matches();
        return isBytea ? HexFormat.of().parseHex(((String) value).substring(2)) : null;
    }

    private static Long date(Object value) {
        if (value instanceof LocalDate date) {
            return Times.of(date);
        }
        return value instanceof String text ? Times.readDate(text) : null;
    }

    private static Long timestamp(Object value) {
        if (value instanceof Instant time) {
            return Times.of(time);
        } else if (value instanceof OffsetDateTime time) {
            return Times.of(time.toInstant());
        } else if (value instanceof ZonedDateTime time) {
            return Times.of(time.toInstant());
        }
        return value instanceof String text ? Times.readTimestamp(text) : null;
    }

    /** The text of a column's value, as PostgreSQL prints it. */
    static String text(KeyType type, Object column) {
        return switch (type) {
            case SMALLINT, INTEGER, BIGINT -> column.toString();
            case TEXT -> new String((byte[]) column, StandardCharsets.UTF_8);
            case UUID -> {
                ByteBuffer bytes = ByteBuffer.wrap((byte[]) column);
                yield new UUID(bytes.getLong(), bytes.getLong()).toString();
            }
            case BYTEA -> "\\x" + HexFormat.of().formatHex((byte[]) column);
            case DATE -> Times.dateText((Long) column);
            case TIMESTAMPTZ -> Times.timestampText((Long) column);
        };
    }

    /** The key in messages. */
    static String display(List<KeyType> types, Key key) {
        List<String> texts = new ArrayList<>();
        for (int at = 0; at < key.size(); at += 1) {
            String text = text(types.get(at), key.column(at));
            texts.add(types.get(at) == KeyType.TEXT ? "'" + text + "'" : text);
        }
        return texts.size() == 1 ? texts.get(0) : "(" + String.join(", ", texts) + ")";
    }

    private static String shown(Object value) {
        if (value instanceof byte[] bytes) {
            return "\\x" + HexFormat.of().formatHex(bytes);
        }
        if (value instanceof Object[] array) {
            return Arrays.deepToString(array);
        }
        return value instanceof String ? "'" + value + "'" : String.valueOf(value);
    }
}
