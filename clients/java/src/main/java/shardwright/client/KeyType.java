package shardwright.client;

import java.util.Locale;

/** The type of one column of a key. */
public enum KeyType {
    /** 16 bits. */
    SMALLINT(16, "int2"),
    /** 32 bits. */
    INTEGER(32, "int4"),
    /** 64 bits. */
    BIGINT(64, "int8"),
    /** Text, also varchar, names of schemas, and names of groups. Its order is that of its bytes in UTF-8. */
    TEXT(0, "text"),
    /** A UUID. */
    UUID(0, "uuid"),
    /** Bytes. */
    BYTEA(0, "bytea"),
    /** A day. */
    DATE(0, "date"),
    /** A time with a time zone. */
    TIMESTAMPTZ(0, "timestamptz");

    private final int bits;
    private final String catalogName;

    KeyType(int bits, String catalogName) {
        this.bits = bits;
        this.catalogName = catalogName;
    }

    /** The bits of an integer; 0 for other types. */
    int bits() {
        return bits;
    }

    /** The name in PostgreSQL's {@code pg_type}. */
    String catalogName() {
        return catalogName;
    }

    /** Whether PostgreSQL stores such a value as a number. */
    boolean isNumeric() {
        return bits > 0 || this == DATE || this == TIMESTAMPTZ;
    }

    /** The name in the JSON of a map. */
    String jsonName() {
        return name().toLowerCase(Locale.ROOT);
    }

    static KeyType of(String jsonName) {
        for (KeyType type : values()) {
            if (type.jsonName().equals(jsonName)) {
                return type;
            }
        }
        throw new MapException("the key type " + jsonName + " is unknown to this version of the library");
    }
}
