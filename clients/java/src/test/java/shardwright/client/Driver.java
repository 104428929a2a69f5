package shardwright.client;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The library as the conformance suite drives it: requests and answers are lines of JSON. Each request has a thread.
 *
 * <p>With {@code --hikari} the shards are data sources of HikariCP instead of URLs.
 */
public final class Driver {
    private static final Map<Class<?>, String> KINDS = Map.ofEntries(
            Map.entry(UnmappedException.class, "unmapped"),
            Map.entry(NotAKeyException.class, "not_a_key"),
            Map.entry(StaleException.class, "stale"),
            Map.entry(MapException.class, "map"),
            Map.entry(FetchFailedException.class, "fetch"),
            Map.entry(NoAccessException.class, "no_access"),
            Map.entry(ConnectFailedException.class, "connect"),
            Map.entry(FailedStatementIgnoredException.class, "failed_statement_ignored"),
            Map.entry(TransactionEndedException.class, "transaction_ended"),
            Map.entry(CommitUnknownException.class, "commit_unknown"),
            Map.entry(GaveUpException.class, "gave_up"),
            Map.entry(NoAnswerException.class, "no_answer"),
            Map.entry(ApplicationException.class, "application"));
    private static final Pattern PLACEHOLDER = Pattern.compile("\\$([0-9]+)");

    private final boolean usesHikari;
    private HikariSources sources;
    private Shardwright map;
    private String shadowUrl;

    private Driver(boolean usesHikari) {
        this.usesHikari = usesHikari;
    }

    /** An error of the application's own function. */
    private static final class ApplicationException extends Exception {
        private static final long serialVersionUID = 1;

        ApplicationException(String message) {
            super(message);
        }
    }

    /** Answers requests until the input ends. */
    public static void main(String[] arguments) throws IOException {
        Driver driver = new Driver(List.of(arguments).contains("--hikari"));
        ExecutorService threads = Executors.newCachedThreadPool();
        PrintStream output = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String request = line;
            threads.execute(() -> output.println(driver.answer(request)));
        }
        threads.shutdownNow();
    }

    @SuppressWarnings("unchecked")
    private String answer(String line) {
        Map<String, Object> request = (Map<String, Object>) JsonReader.parse(line.getBytes(StandardCharsets.UTF_8));
        Map<String, Object> answer = new HashMap<>();
        answer.put("id", request.get("id"));
        try {
            answer.put("ok", perform((String) request.get("op"), request));
        } catch (Exception error) {
            Map<String, Object> described = new HashMap<>();
            described.put("kind", kindOf(error));
            described.put("message", String.valueOf(error.getMessage()));
            described.put("sqlstate", Remedy.serverState(error));
            answer.put("error", described);
        }
        return Json.of(answer);
    }

    private Object perform(String op, Map<String, Object> request) throws Exception {
        return switch (op) {
            case "keys" -> KeyRequests.keys(request);
            case "sort" -> KeyRequests.sort(request);
            case "sets" -> KeyRequests.sets(request);
            case "routes" -> KeyRequests.routes(request);
            case "measure" -> KeyRequests.measure(request);
            case "connect" -> connect(request);
            case "close" -> close();
            case "lookup" -> map.shardFor(request.get("key"));
            case "stats" -> stats(map.stats());
            case "wait_version" -> waitVersion((Long) request.get("version"));
            case "with_shard" -> withShard(request);
            case "on_all" -> onAll(request);
            case "execute" -> execute(KeyRequests.list(request, "statements"));
            case "findings" -> findings();
            default -> throw new IllegalArgumentException("unknown request " + op);
        };
    }

    private Object connect(Map<String, Object> request) {
        Map<String, String> urls = new HashMap<>();
        fields(request, "shards").forEach((shard, url) -> urls.put(shard, jdbcUrl((String) url)));
        sources = new HikariSources(urls);
        if (request.get("shadow") instanceof String one) {
            shadowUrl = jdbcUrl(one);
            urls.replaceAll((shard, url) -> shadowUrl);
        }
        ShardAccess access = usesHikari ? ShardAccess.dataSources(sources::sourceOf) : ShardAccess.urls(urls);
        if (shadowUrl != null) {
            ShadowAccess shadow = usesHikari
                    ? ShadowAccess.dataSource(sources.sourceOf("a"), new LibPgQuery())
                    : ShadowAccess.url(shadowUrl, new LibPgQuery());
            access = shadow.reportingTo(finding -> {});
        }
        String controllers = (String) request.get("controllers");
        map = Shardwright.connect(controllers, (String) request.get("map"), access, options(request));
        return null;
    }

    private static String jdbcUrl(String dsn) {
        URI parsed = URI.create(dsn);
        String query = "?user=" + parsed.getUserInfo() + "&" + parsed.getQuery();
        return "jdbc:postgresql://" + parsed.getHost() + ":" + parsed.getPort() + parsed.getPath() + query;
    }

    private static Options options(Map<String, Object> request) {
        Options.Builder builder = Options.builder();
        fields(request, "options").forEach((name, value) -> {
            switch (name) {
                case "retry_for" -> builder.retryFor(seconds(value));
                case "longest_pause" -> builder.longestPause(seconds(value));
                case "max_staleness" -> builder.maxStaleness(seconds(value));
                case "report_load" -> builder.reportLoad(seconds(value));
                case "token_file" -> builder.tokenFile(Path.of((String) value));
                case "ca_file" -> builder.caFile(Path.of((String) value));
                default -> throw new IllegalArgumentException("unknown option " + name);
            }
        });
        return builder.build();
    }

    private static Duration seconds(Object value) {
        return Duration.ofNanos((long) (((Number) value).doubleValue() * 1e9));
    }

    private Object close() {
        if (map != null) {
            map.close();
            sources.close();
        }
        shadowUrl = null;
        return null;
    }

    private static Object stats(Stats stats) {
        return Map.of(
                "lookups", stats.lookups(),
                "lookups_refused", stats.lookupsRefused(),
                "retries", stats.retries(),
                "not_owner", stats.notOwner(),
                "not_open", stats.notOpen(),
                "refreshes", stats.refreshes(),
                "reconnects", stats.reconnects(),
                "commits_unknown", stats.commitsUnknown(),
                "version", stats.version(),
                "silence", stats.silence().toNanos() / 1e9);
    }

    private Object waitVersion(long version) throws InterruptedException {
        map.awaitVersion(version);
        return null;
    }

    private Object withShard(Map<String, Object> request) throws SQLException, ApplicationException {
        Map<String, Object> wanted = fields(request, "options");
        TransactionOptions kind = TransactionOptions.DEFAULT;
        if (wanted.get("isolation") instanceof String isolation) {
            kind = kind.withIsolation(Isolation.valueOf(isolation.toUpperCase(Locale.ROOT).replace(' ', '_')));
        }
        if (wanted.get("synchronous_commit") instanceof Boolean synchronous) {
            kind = kind.withSynchronousCommit(synchronous);
        }
        List<Object> work = KeyRequests.list(request, "work");
        return map.transactionResult(request.get("key"), kind, connection -> run(connection, work));
    }

    private static List<Object> run(Connection connection, List<Object> work)
            throws SQLException, ApplicationException {
        List<Object> rows = List.of();
        for (Object entry : work) {
            Map<String, Object> statement = fields(Map.of("entry", entry), "entry");
            if (statement.containsKey("fail")) {
                throw new ApplicationException((String) statement.get("fail"));
            }
            rows = tryToExecute(connection, statement, rows);
        }
        return rows;
    }

    private static List<Object> tryToExecute(
            Connection connection, Map<String, Object> statement, List<Object> otherwise) throws SQLException {
        try {
            return execute(connection, statement);
        } catch (SQLException error) {
            if (!Boolean.TRUE.equals(statement.get("ignore_error"))) {
                throw error;
            }
            return otherwise;
        }
    }

    private static List<Object> execute(Connection connection, Map<String, Object> statement) throws SQLException {
        String sql = (String) statement.get("sql");
        try (PreparedStatement prepared = connection.prepareStatement(PLACEHOLDER.matcher(sql).replaceAll("?"))) {
            Matcher numbers = PLACEHOLDER.matcher(sql);
            for (int at = 1; numbers.find(); at += 1) {
                int number = Integer.parseInt(numbers.group(1));
                prepared.setObject(at, KeyRequests.list(statement, "params").get(number - 1));
            }
            return prepared.execute() ? rows(prepared.getResultSet()) : List.of();
        }
    }

    private static List<Object> rows(ResultSet results) throws SQLException {
        List<Object> rows = new ArrayList<>();
        while (results.next()) {
            List<Object> row = new ArrayList<>();
            for (int at = 1; at <= results.getMetaData().getColumnCount(); at += 1) {
                row.add(results.getObject(at));
            }
            rows.add(row);
        }
        return rows;
    }

    private Object onAll(Map<String, Object> request) {
        FanOut<List<Object>> result = map.onAll(((Long) request.get("limit")).intValue(), (part, connection) -> {
            String predicate = part.predicate(KeyRequests.columns(request));
            String sql = ((String) request.get("sql")).replace("{predicate}", predicate);
            return tryToExecute(connection, Map.of("sql", sql, "ignore_error", request.get("ignore_error")), List.of());
        });
        Map<String, Object> shards = new LinkedHashMap<>();
        result.shards().forEach((shard, answer) -> {
            Exception error = answer.error();
            shards.put(shard, error == null ? Map.of("ok", answer.value()) : Map.of("error", kindOf(error)));
        });
        Map<String, Object> all = new HashMap<>(Map.of("version", result.version(), "shards", shards));
        all.put("newer", result.newer().isPresent() ? result.newer().getAsLong() : null);
        return all;
    }

    private Object execute(List<Object> statements) throws SQLException, ApplicationException {
        try (Connection connection = DriverManager.getConnection(shadowUrl)) {
            connection.setAutoCommit(false);
            run(map.shadow().orElseThrow().record(connection), statements);
            connection.rollback();
        }
        return null;
    }

    private Object findings() {
        List<Object> found = new ArrayList<>();
        for (Finding finding : map.shadow().orElseThrow().findings()) {
            Map<String, Object> fields = new HashMap<>();
            fields.put("kind", finding.kind().name().toLowerCase(Locale.ROOT));
            fields.put("table", finding.table());
            fields.put("shards", finding.shards());
            fields.put("count", finding.count());
            fields.put("place", finding.place());
            found.add(fields);
        }
        return found;
    }

    /** The language-neutral name of an error. */
    private static String kindOf(Exception error) {
        String known = KINDS.get(error.getClass());
        return known != null ? known : Remedy.serverState(error) != null ? "database" : "unexpected " + error;
    }

    @SuppressWarnings("unchecked")
    private static Map<String, Object> fields(Map<String, Object> request, String name) {
        return (Map<String, Object>) request.get(name);
    }
}
