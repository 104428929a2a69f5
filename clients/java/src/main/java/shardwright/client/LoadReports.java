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

    private final LoadSummary summary;
    private final Controllers controllers;
    private final Duration window;
    private final Thread thread;

    LoadReports(Controllers controllers, Routes routes, Duration window) {
        this.controllers = controllers;
        this.window = window;
        summary = new LoadSummary(routes);
        thread = new Thread(this::report, "shardwright load " + routes.name());
        thread.setDaemon(true);
        thread.start();
    }

    void count(Routes routes, Key key) {
        summary.count(routes, key);
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
                LoadSummary.Window taken = summary.take();
                long millis = Math.max(1, (System.nanoTime() - begun) / 1_000_000);
                begun = System.nanoTime();
                if (!taken.counts().isEmpty()) {
                    send(documentOf(taken, millis));
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

    private static String documentOf(LoadSummary.Window taken, long millis) {
        String entries = taken.counts().stream()
                .map(entry -> "[" + jsonOf(taken.types(), entry.getKey()) + "," + entry.getValue() + "]")
                .collect(Collectors.joining(","));
        return "{\"counts\":[" + entries + "],\"window_ms\":" + millis + "}";
    }

    private static String jsonOf(List<KeyType> types, Key key) {
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
