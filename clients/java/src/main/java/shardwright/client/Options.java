package shardwright.client;

import java.nio.file.Path;
import java.time.Duration;

/** The options of the library: {@code Options.builder().retryFor(Duration.ofSeconds(10)).build()}. */
public final class Options {
    final int connections;
    final Duration retryFor;
    final Duration firstPause;
    final Duration longestPause;
    final Duration connectTimeout;
    final Duration reportLoad;
    final Duration maxStaleness;
    final Path tokenFile;
    final Path caFile;

    private Options(Builder builder) {
        connections = builder.connections;
        retryFor = builder.retryFor;
        firstPause = builder.firstPause;
        longestPause = builder.longestPause;
        connectTimeout = builder.connectTimeout;
        reportLoad = builder.reportLoad;
        maxStaleness = builder.maxStaleness;
        tokenFile = builder.tokenFile;
        caFile = builder.caFile;
    }

    /** Returns a builder with the defaults. */
    public static Builder builder() {
        return new Builder();
    }

    /** Sets options. */
    public static final class Builder {
        private int connections = 16;
        private Duration retryFor = Duration.ofSeconds(60);
        private Duration firstPause = Duration.ofMillis(5);
        private Duration longestPause = Duration.ofMillis(250);
        private Duration connectTimeout = Duration.ofSeconds(10);
        private Duration reportLoad;
        private Duration maxStaleness;
        private Path tokenFile = fileOf("SHARDWRIGHT_TOKEN_FILE");
        private Path caFile = fileOf("SHARDWRIGHT_CA_FILE");

        private Builder() {}

        private static Path fileOf(String variable) {
            String file = System.getenv(variable);
            return file == null || file.isEmpty() ? null : Path.of(file);
        }

        /** The maximum number of connections for each shard, 16 by default. A data source has a limit of its own. */
        public Builder connections(int limit) {
            if (limit < 1) {
                throw new IllegalArgumentException("a pool needs at least one connection");
            }
            connections = limit;
            return this;
        }

        /**
         * The total time that one call of {@code transaction} may spend on attempts and pauses, a minute by default.
         */
        public Builder retryFor(Duration time) {
            retryFor = time;
            return this;
        }

        /** The first pause between two attempts, 5 ms by default. Each later pause is about twice as long. */
        public Builder firstPause(Duration pause) {
            firstPause = pause;
            return this;
        }

        /** The longest pause between two attempts, 250 ms by default. */
        public Builder longestPause(Duration pause) {
            longestPause = pause;
            return this;
        }

        /**
         * The limit of one attempt to connect to a shard, 10 s by default, unless the URL has a {@code loginTimeout}. A
         * data source has a limit of its own.
         */
        public Builder connectTimeout(Duration limit) {
            connectTimeout = limit;
            return this;
        }

        /**
         * How often the library reports the most used keys to the controller, for rebalances by load; by default never.
         */
        public Builder reportLoad(Duration interval) {
            reportLoad = interval;
            return this;
        }

        /**
         * The time after which lookups fail with {@link StaleException} if no controller has answered. By default
         * lookups use the cached map for an unlimited time. For writes that is safe because of the shard's guard.
         */
        public Builder maxStaleness(Duration limit) {
            maxStaleness = limit;
            return this;
        }

        /**
         * The file with the token for the controllers, by default that of {@code SHARDWRIGHT_TOKEN_FILE}. It is read
         * for each request, so that the token can be renewed.
         */
        public Builder tokenFile(Path file) {
            tokenFile = file;
            return this;
        }

        /**
         * The PEM file with the trusted certificate authorities, by default that of {@code SHARDWRIGHT_CA_FILE};
         * without one, those of Java.
         */
        public Builder caFile(Path file) {
            caFile = file;
            return this;
        }

        /** Returns the options. */
        public Options build() {
            return new Options(this);
        }
    }
}
