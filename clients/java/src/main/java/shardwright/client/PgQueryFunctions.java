package shardwright.client;

import com.sun.jna.Library;
import com.sun.jna.Native;
import com.sun.jna.Pointer;
import com.sun.jna.Structure;
import java.util.Map;

/** The functions of libpg_query that shadow mode calls. The names are those in C. */
interface PgQueryFunctions extends Library {
    /** Loads the library. */
    static PgQueryFunctions load() {
        return Native.load("pg_query", PgQueryFunctions.class, Map.of(OPTION_STRING_ENCODING, "UTF-8"));
    }

    /** A tree as JSON, or an error. */
    @Structure.FieldOrder({"parseTree", "stderrBuffer", "error"})
    class ParseResult extends Structure {
        public Pointer parseTree;
        public Pointer stderrBuffer;
        public Pointer error;

        /** As C returns it. */
        public static final class ByValue extends ParseResult implements Structure.ByValue {}
    }

    /** A statement without its constants, or an error. */
    @Structure.FieldOrder({"normalizedQuery", "error"})
    class NormalizeResult extends Structure {
        public Pointer normalizedQuery;
        public Pointer error;

        /** As C returns it. */
        public static final class ByValue extends NormalizeResult implements Structure.ByValue {}
    }

    /** A fingerprint, or an error. */
    @Structure.FieldOrder({"fingerprint", "fingerprintText", "stderrBuffer", "error"})
    class FingerprintResult extends Structure {
        public long fingerprint;
        public Pointer fingerprintText;
        public Pointer stderrBuffer;
        public Pointer error;

        /** As C returns it. */
        public static final class ByValue extends FingerprintResult implements Structure.ByValue {}
    }

    ParseResult.ByValue pg_query_parse(String sql);

    void pg_query_free_parse_result(ParseResult.ByValue result);

    NormalizeResult.ByValue pg_query_normalize(String sql);

    void pg_query_free_normalize_result(NormalizeResult.ByValue result);

    FingerprintResult.ByValue pg_query_fingerprint(String sql);

    void pg_query_free_fingerprint_result(FingerprintResult.ByValue result);
}
