package shardwright.client;

import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** The pools of all shards, each created on first use. */
final class Pools implements AutoCloseable {
    private final ShardAccess access;
    private final Options options;
    private final Map<String, Pool> pools = new ConcurrentHashMap<>();
    private volatile boolean isClosed;

    Pools(ShardAccess access, Options options) {
        this.access = access;
        this.options = options;
    }

    Pool poolOf(String shard) {
        if (isClosed) {
            throw new IllegalStateException("the map is closed");
        }
        return pools.computeIfAbsent(shard, name -> new Pool(name, access, options));
    }

    /** Keeps idle connections only to these shards: the others own no keys any more, and may soon be removed. */
    void keep(Set<String> shards) {
        pools.forEach((shard, pool) -> pool.keepIdle(access.isPooledHere() && !isClosed && shards.contains(shard)));
    }

    /** Closes the idle connections; each other one is closed when its transaction ends. */
    @Override
    public void close() {
        isClosed = true;
        keep(Set.of());
    }
}
