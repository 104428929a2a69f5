package shardwright.client;

import com.sun.jna.Pointer;
import java.nio.charset.StandardCharsets;

/**
 * PostgreSQL's parser in the C library libpg_query, which must be installed. Needs the package
 * {@code net.java.dev.jna:jna}.
 */
public final class LibPgQuery implements StatementParser {
    private final PgQueryFunctions functions;

    /** Loads the library. Throws {@link ParserMissingException}. */
    public LibPgQuery() {
        try {
            functions = PgQueryFunctions.load();
        } catch (LinkageError error) {
            throw new ParserMissingException(error);
        }
    }

    @Override
    public String parseToJson(String sql) {
        PgQueryFunctions.ParseResult.ByValue result = functions.pg_query_parse(sql);
        try {
            return textOf(result.parseTree, result.error);
        } finally {
            functions.pg_query_free_parse_result(result);
        }
    }

    @Override
    public String normalize(String sql) {
        PgQueryFunctions.NormalizeResult.ByValue result = functions.pg_query_normalize(sql);
        try {
            return textOf(result.normalizedQuery, result.error);
        } finally {
            functions.pg_query_free_normalize_result(result);
        }
    }

    @Override
    public String fingerprint(String sql) {
        PgQueryFunctions.FingerprintResult.ByValue result = functions.pg_query_fingerprint(sql);
        try {
            return textOf(result.fingerprintText, result.error);
        } finally {
            functions.pg_query_free_fingerprint_result(result);
        }
    }

    /** {@code error} points to a structure whose first field is the message. */
    private static String textOf(Pointer text, Pointer error) {
        if (error != null) {
            throw new IllegalArgumentException(utf8(error.getPointer(0)));
        }
        return utf8(text);
    }

    private static String utf8(Pointer text) {
        return text.getString(0, StandardCharsets.UTF_8.name());
    }
}
