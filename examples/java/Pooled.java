import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.util.HashMap;
import java.util.Map;
import javax.sql.DataSource;
import shardwright.client.ShardAccess;

/** The shards as data sources of HikariCP. */
final class Pooled {
    private Pooled() {}

    static ShardAccess access(Map<String, String> urls) {
        Map<String, DataSource> sources = new HashMap<>();
        urls.forEach((shard, url) -> {
            HikariConfig config = new HikariConfig();
            config.setJdbcUrl(url);
            // The pool exists although its shard is down, and an attempt does not take all of the time for retries.
            config.setInitializationFailTimeout(-1);
            config.setConnectionTimeout(8_000);
            sources.put(shard, new HikariDataSource(config));
        });
        return ShardAccess.dataSources(sources);
    }
}
