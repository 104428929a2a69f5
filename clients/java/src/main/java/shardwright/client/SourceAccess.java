package shardwright.client;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.function.Function;
import javax.sql.DataSource;

/** Access by data sources of the application. */
final class SourceAccess extends ShardAccess {
    private final Function<String, ? extends DataSource> sourceOf;

    SourceAccess(Function<String, ? extends DataSource> sourceOf) {
        this.sourceOf = sourceOf;
    }

    @Override
    Connection open(String shard, Duration limit) throws SQLException {
        DataSource source = sourceOf.apply(shard);
        if (source == null) {
            throw new NoAccessException("no data source for shard " + shard);
        }
        return source.getConnection();
    }

    @Override
    boolean isPooledHere() {
        return false;
    }
}
