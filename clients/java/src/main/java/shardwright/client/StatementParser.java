package shardwright.client;

/**
 * PostgreSQL's own parser, for shadow mode. {@link LibPgQuery} calls the C library libpg_query; an application can use
 * another one with the same trees. Several threads may use it at the same time.
 *
 * <p>Each method throws an {@link IllegalArgumentException} if the parser refuses the statement.
 */
public interface StatementParser {
    /** Returns the tree of the statements in a text, as the JSON of libpg_query. */
    String parseToJson(String sql);

    /** Replaces the constants of a statement. */
    String normalize(String sql);

    /** Returns a text that is the same for statements that differ in their constants only. */
    String fingerprint(String sql);
}
