package shardwright.client;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.OffsetDateTime;
import java.time.ZonedDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.TreeSet;
import java.util.UUID;
import org.junit.Test;

/** Values of Java are keys. */
public class ValuesTest {
    private static Key accept(KeyType type, Object value) {
        return Keys.accept(List.of(type), value);
    }

    @Test
    public void valuesOfJavaAreKeys() {
        UUID uuid = UUID.fromString("018f3f5e-9c3a-7c3e-8b1a-2f4d5e6a7b8c");
        ZonedDateTime summer = ZonedDateTime.parse("2000-07-01T02:00:00+02:00[Europe/Berlin]");
        List<List<Object>> same = List.of(
                List.of(KeyType.BIGINT, Long.MAX_VALUE, "9223372036854775807"),
                List.of(KeyType.BIGINT, BigInteger.TWO.pow(62), "4611686018427387904"),
                List.of(KeyType.INTEGER, (byte) -7, "-7"),
                List.of(KeyType.SMALLINT, (short) 7, "+7"),
                List.of(KeyType.UUID, uuid, "018F3F5E9C3A7C3E8B1A2F4D5E6A7B8C"),
                List.of(KeyType.BYTEA, new byte[] {0, -1}, "\\x00ff"),
                List.of(KeyType.DATE, LocalDate.of(1999, 12, 31), "1999-12-31"),
                List.of(KeyType.DATE, LocalDate.of(0, 2, 29), "0001-02-29 BC"),
                List.of(KeyType.TIMESTAMPTZ, Instant.parse("2024-02-29T12:00:00.5Z"), "2024-02-29 12:00:00.5+00"),
                List.of(KeyType.TIMESTAMPTZ, Instant.parse("1999-12-31T23:59:59.9999995Z"), "2000-01-01 00:00:00+00"),
                List.of(KeyType.TIMESTAMPTZ, OffsetDateTime.parse("2000-01-01T02:00:00+02:00"), "2000-01-01 00:00Z"),
                List.of(KeyType.TIMESTAMPTZ, summer, "2000-07-01 00:00Z"));
        for (List<Object> one : same) {
            assertEquals(accept((KeyType) one.get(0), one.get(2)), accept((KeyType) one.get(0), one.get(1)));
        }
        List<KeyType> composite = List.of(KeyType.BIGINT, KeyType.TEXT);
        assertEquals(Keys.accept(composite, List.of("1", "a")), Keys.accept(composite, new Object[] {1, "a"}));
    }

    @Test
    public void otherValuesOfJavaAreRefused() {
        List<List<Object>> wrong = List.of(
                List.of(KeyType.BIGINT, true),
                List.of(KeyType.BIGINT, 1.0),
                List.of(KeyType.BIGINT, BigDecimal.ONE),
                List.of(KeyType.BIGINT, BigInteger.TWO.pow(63)),
                List.of(KeyType.SMALLINT, 32768),
                List.of(KeyType.TEXT, 'a'),
                List.of(KeyType.TEXT, "\ud800"),
                List.of(KeyType.TEXT, "\udc00\ud800"),
                List.of(KeyType.UUID, new byte[16]),
                List.of(KeyType.DATE, Instant.EPOCH),
                List.of(KeyType.DATE, LocalDate.MAX),
                List.of(KeyType.TIMESTAMPTZ, LocalDateTime.MIN),
                List.of(KeyType.TIMESTAMPTZ, Instant.MAX),
                List.of(KeyType.TIMESTAMPTZ, Instant.MIN),
                List.of(KeyType.TEXT, List.of("a", "b")));
        for (List<Object> one : wrong) {
            assertThrows(one.toString(), NotAKeyException.class, () -> accept((KeyType) one.get(0), one.get(1)));
        }
        assertThrows(NotAKeyException.class, () -> accept(KeyType.BIGINT, null));
    }

    @Test
    public void datesAndTimesAreReadAsTheyAreWritten() {
        List<List<Object>> written = List.of(
                List.of(KeyType.DATE, "4714-11-24 BC"),
                List.of(KeyType.DATE, "5874897-12-31"),
                List.of(KeyType.DATE, "-infinity"),
                List.of(KeyType.TIMESTAMPTZ, "294276-12-31 23:59:59.999999+00"),
                List.of(KeyType.TIMESTAMPTZ, "4714-11-24 00:00:00+00 BC"),
                List.of(KeyType.TIMESTAMPTZ, "1999-12-31 23:59:59.05+00"),
                List.of(KeyType.TIMESTAMPTZ, "infinity"));
        for (List<Object> one : written) {
            KeyType type = (KeyType) one.get(0);
            assertEquals(one.get(1), Keys.text(type, accept(type, one.get(1)).column(0)));
        }
    }

    @Test
    public void everyKeyOfARandomMapHasItsOwner() {
        Random random = new Random(5);
        TreeSet<Integer> bounds = new TreeSet<>();
        random.ints(200, -1000, 1000).forEach(bounds::add);
        List<String> mappings = new ArrayList<>();
        String[] owners = new String[2020];
        String from = "null";
        int start = 0;
        for (Integer bound : new ArrayList<>(bounds)) {
            String owner = random.nextInt(5) == 0 ? null : String.valueOf("abcd".charAt(random.nextInt(4)));
            if (owner != null) {
                String range = "{\"range\":[{\"from\":" + from + ",\"to\":" + bound + "}]}";
                mappings.add("{\"keys\":" + range + ",\"shard\":\"" + owner + "\"}");
            }
            for (; start < bound + 1010; start += 1) {
                owners[start] = owner;
            }
            from = bound.toString();
        }
        Routes routes = new Routes("{\"name\":\"m\",\"strategy\":\"range\",\"key\":[\"bigint\"],\"version\":1,"
                + "\"incarnation\":\"i\",\"mappings\":[" + String.join(",", mappings) + "]}");
        for (int key = -1010; key < 1010; key += 1) {
            int wanted = key;
            String owner = owners[key + 1010];
            List<String> found = new ArrayList<>(routes.shards());
            found.removeIf(shard -> !routes.ownedBy(shard).contains(wanted));
            assertEquals(owner == null ? List.of() : List.of(owner), found);
            if (owner == null) {
                assertThrows(UnmappedException.class, () -> routes.shardFor(wanted));
            } else {
                assertEquals(owner, routes.shardFor(wanted));
            }
        }
    }
}
