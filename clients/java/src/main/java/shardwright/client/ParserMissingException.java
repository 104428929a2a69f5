package shardwright.client;

import java.util.Optional;

/** Shadow mode needs PostgreSQL's parser, and a library that it uses is not installed. */
public final class ParserMissingException extends ShardwrightException {
    private static final long serialVersionUID = 1;

    ParserMissingException(Throwable cause) {
        super("shadow mode needs the library libpg_query and the package net.java.dev.jna:jna: " + cause, cause);
    }

    @Override
    public Optional<String> hint() {
        return Optional.of("install both, or pass another StatementParser");
    }
}
