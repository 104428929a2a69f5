package shardwright.client;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** The pools of an application, as README.md describes them. */
final class HikariSources implements AutoCloseable {
    private final Map<String, String> urls;
    private final Map<String, HikariDataSource> sources = new ConcurrentHashMap<>();

    HikariSources(Map<String, String> urls) {
        this.urls = urls;
    }

    HikariDataSource sourceOf(String shard) {
        return urls.containsKey(shard) ? sources.computeIfAbsent(shard, this::create) : null;
    }

    private HikariDataSource create(String shard) {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(urls.get(shard));
        config.setMaximumPoolSize(8);
        config.setMinimumIdle(0);
        // A pool whose shard is down must exist, and an attempt must not take all of the time for retries.
        config.setInitializationFailTimeout(-1);
        config.setConnectionTimeout(8_000);
        return new HikariDataSource(config);
    }

    @Override
    public void close() {
        sources.values().forEach(HikariDataSource::close);
    }
}
