package shardwright.client;

import java.lang.System.Logger.Level;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.function.Consumer;
import javax.sql.DataSource;

/**
 * The access of an application that still has one database: {@code ShadowAccess.url("jdbc:postgresql://db/shop", new
 * LibPgQuery())}. The map decides which shard each transaction would use, and everything is sent to the one database.
 */
public final class ShadowAccess extends ShardAccess {
    private static final System.Logger LOG = System.getLogger("shardwright.shadow");

    private final ShardAccess database;
    private final StatementParser parser;
    private final Consumer<Finding> report;

    private ShadowAccess(ShardAccess database, StatementParser parser, Consumer<Finding> report) {
        this.database = database;
        this.parser = parser;
        this.report = report;
    }

    /** Returns access by the JDBC URL of the database. Findings are logged as warnings. */
    public static ShadowAccess url(String url, StatementParser parser) {
        return new ShadowAccess(urls(shard -> url), parser, ShadowAccess::log);
    }

    /** Returns access by a data source of the application, which it closes after the map. */
    public static ShadowAccess dataSource(DataSource source, StatementParser parser) {
        return new ShadowAccess(dataSources(shard -> source), parser, ShadowAccess::log);
    }

    /** Returns the same access, with a function that gets each finding when it occurs first. */
    public ShadowAccess reportingTo(Consumer<Finding> receiver) {
        return new ShadowAccess(database, parser, receiver);
    }

    private static void log(Finding finding) {
        LOG.log(Level.WARNING, finding);
    }

    StatementParser parser() {
        return parser;
    }

    Consumer<Finding> report() {
        return report;
    }

    @Override
    Connection open(String shard, Duration limit) throws SQLException {
        return database.open(shard, limit);
    }

    @Override
    boolean isPooledHere() {
        return database.isPooledHere();
    }
}
