package shardwright.client;

import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** The pools of all shards, each created on first use. */
final class Pools implements AutoCloseable {
    /** In shadow mode there is one pool. */
    private static final String ONE_DATABASE = "the one database";

    private final ShardAccess access;
    private final boolean isOneDatabase;
    private final Options options;
    private final Map<String, Pool> pools = new ConcurrentHashMap<>();
    private volatile boolean isClosed;

    Pools(ShardAccess access, Options options) {
        this.access = access;
        isOneDatabase = access instanceof ShadowAccess;
        this.options = options;
    }

    Pool poolOf(String shard) {
        if (isClosed) {
            throw new IllegalStateException("the map is closed");
        }
        String place = isOneDatabase ? ONE_DATABASE : shard;
        return pools.computeIfAbsent(place, name -> new Pool(name, access, options));
    }

    /** Keeps idle connections only to these shards: the others own no keys any more, and may soon be removed. */
    void keep(Set<String> shards) {
        boolean isKept = access.isPooledHere() && !isClosed;
        pools.forEach((shard, pool) -> pool.keepIdle(isKept && (isOneDatabase || shards.contains(shard))));
    }

    /** Closes the idle connections; each other one is closed when its transaction ends. */
    @Override
    public void close() {
        isClosed = true;
        keep(Set.of());
    }
}
