package shardwright.client;

import java.io.IOException;
import java.security.GeneralSecurityException;
import java.sql.SQLException;
import java.sql.SQLTransientException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;
import org.postgresql.util.PSQLException;
import org.postgresql.util.ServerErrorMessage;

/** What to do after an error that occurred before the commit was sent. */
enum Remedy {
    /** The guard refused the key: wait for a newer map, then try again. */
    REFRESH_NOT_OWNER,
    /** The guard refused the key because the shard does not own it yet: wait for a newer map, then try again. */
    REFRESH_NOT_OPEN,
    /** Try again after a pause. */
    AGAIN,
    /** Throw the error to the application. */
    NONE;

    /** Serialization failure, deadlock; the server stops, has crashed or starts; no connection is free. */
    private static final Set<String> AGAIN_STATES = Set.of("40001", "40P01", "57P01", "57P02", "57P03", "53300");
    /** The driver's SQLSTATE of a connection that cannot be made as configured, for example without a password. */
    private static final String REJECTED = "08004";

    /** Decides what to do after an error. */
    static Remedy of(Throwable error, Attempt attempt) {
        String state = serverState(error);
        if (Shardwright.NOT_OWNER.equals(state)) {
            return REFRESH_NOT_OWNER;
        } else if (Shardwright.NOT_OPEN.equals(state)) {
            return REFRESH_NOT_OPEN;
        } else if (state != null) {
            return AGAIN_STATES.contains(state) || state.startsWith("08") ? AGAIN : NONE;
        }
        if (attempt.stage == Attempt.Stage.CONNECT) {
            return mayConnectLater(error) ? AGAIN : NONE;
        }
        return attempt.isLost && isOfConnection(error) ? AGAIN : NONE;
    }

    /** Whether a failed commit was certainly rolled back: the session still exists and reported the error. */
    static boolean isRefusedAtCommit(Throwable error) {
        for (Throwable cause : causes(error)) {
            ServerErrorMessage message = messageOf(cause);
            if (message != null && message.getSQLState() != null) {
                String severity = String.valueOf(message.getSeverity());
                // A server may report the severity in another language, and a pooler reports with ERROR that it has
                // lost the server; these classes end a session.
                return !severity.equals("FATAL") && !severity.equals("PANIC")
                        && !message.getSQLState().matches("(57P|08|XX).*");
            }
        }
        return false;
    }

    /** The SQLSTATE that the server reported; null if the error is not the server's. */
    static String serverState(Throwable error) {
        for (Throwable cause : causes(error)) {
            ServerErrorMessage message = messageOf(cause);
            if (message != null && message.getSQLState() != null) {
                return message.getSQLState();
            }
        }
        return null;
    }

    /**
     * Whether another attempt to connect may succeed: the driver or a pool has met no server, or not for long enough.
     */
    private static boolean mayConnectLater(Throwable error) {
        boolean isOfConnection = false;
        for (Throwable cause : causes(error)) {
            if (cause instanceof GeneralSecurityException) {
                // A certificate that is not trusted.
                return false;
            }
            String state = cause instanceof SQLException exception ? exception.getSQLState() : null;
            if (state != null && (!state.startsWith("08") || state.equals(REJECTED))) {
                return false;
            }
            isOfConnection |= state != null || cause instanceof SQLTransientException;
        }
        return isOfConnection;
    }

    private static boolean isOfConnection(Throwable error) {
        return causes(error).stream().anyMatch(cause -> cause instanceof IOException || cause instanceof SQLException);
    }

    private static ServerErrorMessage messageOf(Throwable error) {
        return error instanceof PSQLException exception ? exception.getServerErrorMessage() : null;
    }

    /** The error, its causes, and the exceptions that follow it in a batch. */
    private static List<Throwable> causes(Throwable error) {
        List<Throwable> found = new ArrayList<>();
        Set<Throwable> known = Collections.newSetFromMap(new IdentityHashMap<>());
        collect(error, found, known);
        return found;
    }

    private static void collect(Throwable error, List<Throwable> found, Set<Throwable> known) {
        if (error == null || !known.add(error)) {
            return;
        }
        found.add(error);
        collect(error.getCause(), found, known);
        if (error instanceof SQLException exception) {
            collect(exception.getNextException(), found, known);
        }
    }
}
