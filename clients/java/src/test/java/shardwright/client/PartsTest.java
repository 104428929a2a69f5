package shardwright.client;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.Test;
import org.postgresql.util.PSQLException;
import org.postgresql.util.PSQLState;
import org.postgresql.util.ServerErrorMessage;

/** Small parts of the library do what they promise. */
public class PartsTest {
    private static byte[] utf8(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    @Test
    public void jsonKeepsAllDigits() {
        String json = "{\"a\": 9007199254740993, \"b\": [-9223372036854775808, 9223372036854775808, 1.5e1, -0],"
                + " \"c\": \"\\u00e4\\n\\\"語🐘\\ud800\", \"d\": [true, null, {}, []]}";
        Map<String, Object> wanted = Map.of(
                "a", 9007199254740993L,
                "b", List.of(Long.MIN_VALUE, new BigInteger("9223372036854775808"), 15.0, 0L),
                "c", "ä\n\"語🐘\ud800",
                "d", Arrays.asList(true, null, Map.of(), List.of()));
        assertEquals(wanted, JsonReader.parse(utf8(json)));
    }

    @Test
    public void otherTextsAreNoJson() {
        String deep = "[".repeat(100_000);
        List<String> wrong = List.of("", "{", "[1,]", "{\"a\":1,}", "01", "+1", "1.", "nul", "\"a", "\"\\x\"",
                "\"\\u12\"", "\"a\nb\"", "\"\\t\n\"", "1 2", "{1:2}", "[1 2]", "{\"a\" 1}", "NaN", "--1", deep);
        for (String text : wrong) {
            assertThrows(text, MapException.class, () -> JsonReader.parse(utf8(text)));
            assertThrows(text, MapException.class, () -> new Routes(text));
        }
        assertEquals("\ufffd", JsonReader.parse(utf8("\"\ufffd\"")));
        assertThrows(MapException.class, () -> JsonReader.parse(new byte[] {'"', (byte) 0xff, '"'}));
    }

    @Test
    public void fieldsMayFollowTheMappings() {
        Routes routes = new Routes("{\"mappings\":[{\"shard\":\"a\",\"keys\":{\"list\":[\"x\"]}}],\"key\":[\"text\"],"
                + "\"incarnation\":\"i\",\"strategy\":\"list\",\"name\":\"m\",\"version\":3,\"buckets\":0}");
        assertEquals("a", routes.shardFor("x"));
        assertThrows(UnmappedException.class, () -> routes.shardFor("y"));
        assertEquals("(false)", routes.ownedBy("b").predicate("k"));
    }

    @Test
    public void adjacentIntervalsAreJoined() {
        List<Interval<Integer>> intervals = List.of(
                new Interval<>(5, 9),
                new Interval<>(null, 3),
                new Interval<>(3, 4),
                new Interval<>(7, null),
                new Interval<>(2, 2));
        assertEquals(List.of(new Interval<>(null, 4), new Interval<>(5, null)), Interval.joined(intervals));
        assertEquals(List.of(), Interval.joined(List.<Interval<Integer>>of()));
    }

    @Test
    public void eventsSurviveAnyCutOfTheStream() {
        byte[] stream = utf8(": a\n\nevent: map\nid: 7\ndata: {\"ä\":1}\n\nevent: map\r\ndata: x\r\ndata:y\r\n\r\n");
        for (int size = 1; size <= stream.length; size += 1) {
            EventParser parser = new EventParser();
            List<String> events = new ArrayList<>();
            for (int at = 0; at < stream.length; at += size) {
                ByteBuffer piece = ByteBuffer.wrap(stream, at, Math.min(size, stream.length - at));
                for (EventParser.Event event : parser.push(piece)) {
                    events.add(event.name() + " " + new String(event.data(), StandardCharsets.UTF_8));
                }
            }
            assertEquals(List.of("map {\"ä\":1}", "map x\ny"), events);
        }
    }

    @Test
    public void pausesGrowToTheirLimit() {
        Pauses pauses = new Pauses(Duration.ofMillis(5), Duration.ofMillis(20));
        for (int middle : List.of(5, 10, 20, 20)) {
            double pause = pauses.next().toNanos() / 1e6;
            assertTrue(pause + " is not about " + middle, pause >= 0.79 * middle && pause <= 1.21 * middle);
        }
    }

    @Test
    public void theMostUsedKeysAreCounted() {
        Routes routes = new Routes("{\"name\":\"m\",\"strategy\":\"range\",\"key\":[\"bigint\"],\"version\":1,"
                + "\"incarnation\":\"i\",\"mappings\":[]}");
        LoadSummary summary = new LoadSummary(routes);
        for (long key = 0; key < 3 * LoadSummary.MAX_KEYS; key += 1) {
            summary.count(routes, new Key(-1L));
            summary.count(routes, new Key(key));
        }
        Map.Entry<Key, Long> first = summary.take().counts().get(0);
        assertEquals(new Key(-1L), first.getKey());
        assertTrue(first.getValue() > LoadSummary.MAX_KEYS);
        assertEquals(List.of(), summary.take().counts());
    }

    @Test
    public void onlyProgramsThatListenCountForTheTokenOfThisMachine() {
        String table = List.of(
                        "  sl  local_address rem_address st tx rx tr tm retrnsmt uid timeout inode",
                        "   0: 0100007F:1D08 00000000:0000 0A 00000000:00000000 00:00000000 00000000 1000 0 1",
                        "   1: 0100007F:1D08 0100007F:A000 01 00000000:00000000 00:00000000 00000000 4711 0 2")
                .stream()
                .collect(Collectors.joining("\n"));
        assertEquals(List.of(1000), MachineToken.listeningAccounts(table, 7432));
        assertEquals(List.of(), MachineToken.listeningAccounts(table, 7433));
    }

    private static PSQLException server(String state, String severity) {
        return new PSQLException(new ServerErrorMessage("S" + severity + "\0C" + state + "\0Mrefused\0"));
    }

    private static Remedy remedy(Throwable error, Attempt.Stage stage, boolean isLost) {
        Attempt attempt = new Attempt("a");
        attempt.stage = stage;
        attempt.isLost = isLost;
        return Remedy.of(error, attempt);
    }

    @Test
    public void errorsOfTheWorkHaveTheirRemedies() {
        SQLException lost = new PSQLException("An I/O error occurred", PSQLState.CONNECTION_FAILURE);
        assertEquals(Remedy.REFRESH_NOT_OWNER, remedy(server("SM001", "ERROR"), Attempt.Stage.WORK, false));
        RuntimeException wrapped = new IllegalStateException("the ORM failed", server("SM002", "ERROR"));
        assertEquals(Remedy.REFRESH_NOT_OPEN, remedy(wrapped, Attempt.Stage.WORK, false));
        assertEquals(Remedy.AGAIN, remedy(server("40P01", "ERROR"), Attempt.Stage.COMMIT, false));
        assertEquals(Remedy.NONE, remedy(server("23505", "ERROR"), Attempt.Stage.WORK, false));
        assertEquals(Remedy.AGAIN, remedy(lost, Attempt.Stage.WORK, true));
        // Another connection of the application was lost, not that to the shard.
        assertEquals(Remedy.NONE, remedy(lost, Attempt.Stage.WORK, false));
        assertEquals(Remedy.NONE, remedy(new IllegalStateException("no stock"), Attempt.Stage.WORK, true));
    }

    @Test
    public void errorsOfConnectionsHaveTheirRemedies() {
        SQLException refused = new PSQLException("Connection refused", PSQLState.CONNECTION_UNABLE_TO_CONNECT);
        SQLException noPassword = new PSQLException("no password was provided", PSQLState.CONNECTION_REJECTED);
        SQLException timeout = new SQLTransientConnectionException("request timed out", "08001", refused);
        PSQLException password = server("28P01", "FATAL");
        SQLException hidden = new SQLTransientConnectionException("request timed out", "28P01", password);
        SQLException noneFree = new SQLTransientConnectionException("no connection is free");
        assertEquals(Remedy.AGAIN, remedy(refused, Attempt.Stage.CONNECT, false));
        assertEquals(Remedy.AGAIN, remedy(server("57P03", "FATAL"), Attempt.Stage.CONNECT, false));
        assertEquals(Remedy.AGAIN, remedy(timeout, Attempt.Stage.CONNECT, false));
        assertEquals(Remedy.AGAIN, remedy(noneFree, Attempt.Stage.CONNECT, false));
        assertEquals(Remedy.NONE, remedy(noPassword, Attempt.Stage.CONNECT, false));
        assertEquals(Remedy.NONE, remedy(hidden, Attempt.Stage.CONNECT, false));
        assertEquals(Remedy.NONE, remedy(new IllegalStateException("closed"), Attempt.Stage.CONNECT, false));
    }

    @Test
    public void onlyAnErrorOfALivingSessionRefusesACommit() {
        assertTrue(Remedy.isRefusedAtCommit(server("23514", "ERROR")));
        assertTrue(Remedy.isRefusedAtCommit(server("40001", "FEHLER")));
        assertFalse(Remedy.isRefusedAtCommit(server("57P01", "FEHLER")));
        // A pooler reports so that it has lost the server, which may have committed.
        assertFalse(Remedy.isRefusedAtCommit(server("08006", "ERROR")));
        assertFalse(Remedy.isRefusedAtCommit(server("42501", "FATAL")));
        assertFalse(Remedy.isRefusedAtCommit(new PSQLException("An I/O error occurred", PSQLState.CONNECTION_FAILURE)));
    }
}
