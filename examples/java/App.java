import java.io.IOException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import shardwright.client.CommitUnknownException;
import shardwright.client.Options;
import shardwright.client.ShardAccess;
import shardwright.client.Shardwright;
import shardwright.client.Stats;

/**
 * An application that shards by tenant: a few threads that write orders and read them, until the end of stdin.
 *
 * <pre>
 * java App --controller http://127.0.0.1:7432 --map tenants --shard a=jdbc:postgresql://10.0.0.1/shop?user=app
 * </pre>
 *
 * <p>With {@code --pool hikari} the connections are those of HikariCP. Each acknowledged order is a line on stdout,
 * {@code tenant id}, so that another program can search for every one. The shards need a table {@code orders (tenant_id
 * bigint, id bigint, note text)}.
 */
public final class App {
    private static final int TENANTS = 1000;
    private static final int THREADS = 4;
    /** What a client does between two orders, in milliseconds. */
    private static final int OTHER_WORK = 50;

    private final AtomicBoolean stop = new AtomicBoolean();
    private final AtomicLong numbers = new AtomicLong();
    private final Shardwright map;

    private App(Shardwright map, long firstNumber) {
        this.map = map;
        numbers.set(firstNumber);
    }

    private void placeOrder(long tenant, long number) throws SQLException {
        boolean isPlaced = false;
        while (!isPlaced) {
            try {
                map.transaction(tenant, connection -> insert(connection, tenant, number));
                isPlaced = true;
            } catch (CommitUnknownException unknown) {
                // The order is placed again only if it was not committed.
                isPlaced = map.transactionResult(tenant, connection -> exists(connection, tenant, number));
            }
        }
        System.out.println(tenant + " " + number);
    }

    private static void insert(Connection connection, long tenant, long number) throws SQLException {
        String sql = "insert into orders (tenant_id, id, note) values (?, ?, 'java')";
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            statement.setLong(1, tenant);
            statement.setLong(2, number);
            statement.executeUpdate();
        }
        if (!exists(connection, tenant, number)) {
            throw new IllegalStateException("an application reads what it has written");
        }
    }

    private static boolean exists(Connection connection, long tenant, long number) throws SQLException {
        String sql = "select note = 'java' from orders where tenant_id = ? and id = ?";
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            statement.setLong(1, tenant);
            statement.setLong(2, number);
            ResultSet row = statement.executeQuery();
            return row.next() && row.getBoolean(1);
        }
    }

    private Void runClient() throws SQLException, InterruptedException {
        try {
            while (!stop.get()) {
                placeOrder(ThreadLocalRandom.current().nextLong(1, TENANTS + 1), numbers.getAndIncrement());
                Thread.sleep(OTHER_WORK);
            }
            return null;
        } finally {
            stop.set(true);
        }
    }

    private void run() throws InterruptedException, ExecutionException {
        Thread input = new Thread(this::waitForEndOfInput);
        input.setDaemon(true);
        input.start();
        ExecutorService threads = Executors.newFixedThreadPool(THREADS);
        List<Future<Void>> clients = new ArrayList<>();
        for (int client = 0; client < THREADS; client += 1) {
            clients.add(threads.submit(this::runClient));
        }
        threads.shutdown();
        for (Future<Void> client : clients) {
            client.get();
        }
        Stats stats = map.stats();
        long refusals = stats.notOwner() + stats.notOpen();
        System.err.println("map version " + stats.version() + ", " + refusals + " refusal(s)");
    }

    private void waitForEndOfInput() {
        try {
            while (System.in.read() >= 0) {
                // What is read has no meaning.
            }
        } catch (IOException error) {
            System.err.println("error: " + error);
        }
        stop.set(true);
    }

    /** Runs the application. */
    public static void main(String[] arguments) throws InterruptedException, ExecutionException {
        Map<String, String> named = new HashMap<>();
        Map<String, String> shards = new HashMap<>();
        for (int at = 0; at + 1 < arguments.length; at += 2) {
            if (arguments[at].equals("--shard")) {
                String[] parts = arguments[at + 1].split("=", 2);
                shards.put(parts[0], parts[1]);
            } else {
                named.put(arguments[at], arguments[at + 1]);
            }
        }
        Options.Builder options = Options.builder();
        if (named.containsKey("--token-file")) {
            options.tokenFile(Path.of(named.get("--token-file")));
        }
        boolean usesHikari = "hikari".equals(named.get("--pool"));
        ShardAccess access = usesHikari ? Pooled.access(shards) : ShardAccess.urls(shards);
        String controller = named.get("--controller");
        try (Shardwright map = Shardwright.connect(controller, named.get("--map"), access, options.build())) {
            new App(map, usesHikari ? 8_000_000 : 4_000_000).run();
        }
    }
}
