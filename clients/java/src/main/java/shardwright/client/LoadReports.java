package shardwright.client;

import java.io.IOException;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * Reports the most used keys to the controller at the end of each window. If the controller does not accept a report,
 * its counts are lost. No transaction waits for a report.
 */
final class LoadReports implements AutoCloseable {
    private static final System.Logger LOG = System.getLogger("shardwright");

    private final LoadSummary summary = new LoadSummary();
    private final Controllers controllers;
    private final List<KeyType> types;
    private final Duration window;
    private final Thread thread;

    LoadReports(Controllers controllers, Routes routes, Duration window) {
        this.controllers = controllers;
        this.window = window;
        types = routes.keyTypes();
        thread = new Thread(this::report, "shardwright load " + routes.name());
        thread.setDaemon(true);
        thread.start();
    }

    void count(Key key) {
        summary.count(key);
    }

    @Override
    public void close() {
        thread.interrupt();
    }

    private void report() {
        long begun = System.nanoTime();
        try {
            while (true) {
                Thread.sleep(window.toMillis());
                List<Map.Entry<Key, Long>> counts = summary.take();
                long millis = Math.max(1, (System.nanoTime() - begun) / 1_000_000);
                begun = System.nanoTime();
                if (!counts.isEmpty()) {
                    send(documentOf(counts, millis));
                }
            }
        } catch (InterruptedException error) {
            // The map is closed.
        }
    }

    private void send(String document) throws InterruptedException {
        String url = controllers.current();
        try {
            controllers.post(url + "/counters", document);
        } catch (IOException error) {
            LOG.log(Level.DEBUG, "the load was not reported", error);
            controllers.switchAfterFailure(url);
        }
    }

    private String documentOf(List<Map.Entry<Key, Long>> counts, long millis) {
        String entries = counts.stream()
                .map(entry -> "[" + jsonOf(entry.getKey()) + "," + entry.getValue() + "]")
                .collect(Collectors.joining(","));
        return "{\"counts\":[" + entries + "],\"window_ms\":" + millis + "}";
    }

    private String jsonOf(Key key) {
        List<String> columns = new ArrayList<>();
        for (int at = 0; at < key.size(); at += 1) {
            columns.add(jsonOf(types.get(at), key.column(at)));
        }
        return columns.size() == 1 ? columns.get(0) : "[" + String.join(",", columns) + "]";
    }

    private static String jsonOf(KeyType type, Object column) {
        String text = Keys.text(type, column);
        if (type.bits() > 0) {
            return text;
        }
        return type == KeyType.TEXT ? quoted(text) : "{" + quoted(type.jsonName()) + ":" + quoted(text) + "}";
    }

    /** A string of JSON. */
    static String quoted(String text) {
        StringBuilder quoted = new StringBuilder("\"");
        for (char letter : text.toCharArray()) {
            if (letter == '"' || letter == '\\') {
                quoted.append('\\').append(letter);
            } else if (letter < ' ') {
                quoted.append(String.format("\\u%04x", (int) letter));
            } else {
                quoted.append(letter);
            }
        }
        return quoted.append('"').toString();
    }
}
