package shardwright.client;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Properties;
import java.util.function.Function;
import org.postgresql.Driver;
import org.postgresql.PGProperty;

/** Access by URLs. The driver is called by itself: DriverManager would hide its error behind "No suitable driver". */
final class UrlAccess extends ShardAccess {
    private final Driver driver = new Driver();
    private final Function<String, String> urlOf;

    UrlAccess(Function<String, String> urlOf) {
        this.urlOf = urlOf;
    }

    @Override
    Connection open(String shard, Duration limit) throws SQLException {
        String url = urlOf.apply(shard);
        if (url == null) {
            throw new NoAccessException("no URL for shard " + shard);
        }
        // The message of the driver would contain the URL, and so a password.
        if (!driver.acceptsURL(url)) {
            String form = "jdbc:postgresql://HOST/DATABASE";
            throw new NoAccessException("the URL of shard " + shard + " does not have the form " + form);
        }
        Properties defaults = new Properties();
        defaults.setProperty(PGProperty.LOGIN_TIMEOUT.getName(), String.valueOf(Math.max(1, limit.toSeconds())));
        // Without it, an answer of a server that has vanished is awaited without a limit.
        defaults.setProperty(PGProperty.TCP_KEEP_ALIVE.getName(), "true");
        return driver.connect(url, defaults);
    }

    @Override
    boolean isPooledHere() {
        return true;
    }
}
