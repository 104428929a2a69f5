package shardwright.client;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Map;
import java.util.function.Function;
import javax.sql.DataSource;

/**
 * How the application reaches its shards, with its own role: by URLs, of which the library makes small pools, or by
 * data sources of the application, such as those of HikariCP.
 *
 * <p>A data source must show why a connection failed, as an {@code SQLException} or as its cause: that decides whether
 * a transaction is repeated. Its connections must be those of PostgreSQL's JDBC driver, or unwrap to them.
 */
public abstract class ShardAccess {
    ShardAccess() {}

    /** Returns access by a JDBC URL for each shard, such as {@code jdbc:postgresql://10.0.0.1/shop?user=app}. */
    public static ShardAccess urls(Map<String, String> urls) {
        return urls(Map.copyOf(urls)::get);
    }

    /**
     * Returns access by a function from the name of a shard to its JDBC URL; null if there is none. It is called for
     * each new connection, so that a password can be renewed while the application runs.
     */
    public static ShardAccess urls(Function<String, String> urlOf) {
        return new UrlAccess(urlOf);
    }

    /** Returns access by a data source for each shard. The application closes them after the map. */
    public static ShardAccess dataSources(Map<String, ? extends DataSource> sources) {
        return dataSources(Map.copyOf(sources)::get);
    }

    /** Returns access by a function from the name of a shard to its data source; null if there is none. */
    public static ShardAccess dataSources(Function<String, ? extends DataSource> sourceOf) {
        return new SourceAccess(sourceOf);
    }

    /** Opens a connection, or takes one of the application's pool. Throws {@code NoAccessException}. */
    abstract Connection open(String shard, Duration limit) throws SQLException;

    /** Whether the library keeps connections for reuse. */
    abstract boolean isPooledHere();
}
