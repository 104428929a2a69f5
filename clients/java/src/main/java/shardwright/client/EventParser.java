package shardwright.client;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * Parses server-sent events with the fields that the map's feed uses: {@code event}, {@code data}, and comments. The
 * bytes may arrive in pieces of any size.
 */
final class EventParser {
    record Event(String name, byte[] data) {}

    private final ByteArrayOutputStream line = new ByteArrayOutputStream();
    private final ByteArrayOutputStream data = new ByteArrayOutputStream();
    private boolean hasData;
    private String name = "";

    /** Adds bytes, and returns the events that they complete. */
    List<Event> push(ByteBuffer bytes) {
        List<Event> events = new ArrayList<>();
        byte[] chunk = new byte[bytes.remaining()];
        bytes.get(chunk);
        int start = 0;
        for (int at = 0; at < chunk.length; at += 1) {
            if (chunk[at] == '\n') {
                line.write(chunk, start, at - start);
                start = at + 1;
                processLine(line.toByteArray(), events);
                line.reset();
            }
        }
        line.write(chunk, start, chunk.length - start);
        return events;
    }

    private void processLine(byte[] text, List<Event> events) {
        int length = text.length > 0 && text[text.length - 1] == '\r' ? text.length - 1 : text.length;
        if (length == 0) {
            if (hasData) {
                events.add(new Event(name, data.toByteArray()));
            }
            name = "";
            data.reset();
            hasData = false;
            return;
        }
        int colon = 0;
        while (colon < length && text[colon] != ':') {
            colon += 1;
        }
        int value = Math.min(colon + 1, length);
        if (value < length && text[value] == ' ') {
            value += 1;
        }
        switch (new String(text, 0, colon, StandardCharsets.UTF_8)) {
            case "event" -> name = new String(text, value, length - value, StandardCharsets.UTF_8);
            case "data" -> {
                if (hasData) {
                    data.write('\n');
                }
                hasData = true;
                data.write(text, value, length - value);
            }
            default -> {
                // A comment, or a field that the feed does not need.
            }
        }
    }
}
