package shardwright.client;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.sql.Array;
import java.sql.CallableStatement;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;

/** A connection whose statements shadow mode compares with the map before they are executed. */
final class RecordedConnection implements InvocationHandler {
    private final Connection connection;
    private final ShadowTransaction transaction;
    private final Connection recorded;

    private RecordedConnection(Connection connection, ShadowTransaction transaction) {
        this.connection = connection;
        this.transaction = transaction;
        recorded = Proxies.of(Connection.class, this);
    }

    static Connection of(Connection connection, ShadowTransaction transaction) {
        return new RecordedConnection(connection, transaction).recorded;
    }

    @Override
    public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
        String name = method.getName();
        if (name.equals("equals")) {
            return proxy == arguments[0];
        }
        Object result = Proxies.call(connection, method, arguments);
        if (name.equals("commit") || name.equals("rollback") && arguments == null) {
            transaction.clear();
        }
        if (result instanceof CallableStatement statement) {
            return Proxies.of(CallableStatement.class, new RecordedStatement(statement, (String) arguments[0]));
        } else if (result instanceof PreparedStatement statement) {
            return Proxies.of(PreparedStatement.class, new RecordedStatement(statement, (String) arguments[0]));
        } else if (result instanceof Statement statement) {
            return Proxies.of(Statement.class, new RecordedStatement(statement, null));
        }
        return result;
    }

    private void record(String sql, List<Object> parameters) throws SQLException {
        if (connection.getAutoCommit()) {
            transaction.clear();
        }
        transaction.record(sql, parameters);
    }

    /** A statement with the parameters that were set so far. */
    private final class RecordedStatement implements InvocationHandler {
        private final Statement statement;
        /** The prepared statement with numbered parameters; otherwise null. */
        private final String prepared;
        private final SortedMap<Integer, Object> parameters = new TreeMap<>();

        RecordedStatement(Statement statement, String sql) {
            this.statement = statement;
            prepared = sql == null ? null : Placeholders.numbered(sql);
        }

        @Override
        public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
            String name = method.getName();
            if (name.equals("getConnection")) {
                return recorded;
            } else if (name.equals("equals")) {
                return proxy == arguments[0];
            } else if (name.equals("clearParameters")) {
                parameters.clear();
            } else if (name.startsWith("set") && arguments.length > 1 && arguments[0] instanceof Integer number) {
                parameters.put(number, name.equals("setNull") ? null : plain(arguments[1]));
            } else if (name.equals("addBatch") || name.startsWith("execute") && !name.endsWith("Batch")) {
                if (arguments != null && arguments.length > 0 && arguments[0] instanceof String sql) {
                    record(sql, List.of());
                } else if (prepared != null) {
                    record(prepared, inOrder());
                }
            }
            return Proxies.call(statement, method, arguments);
        }

        private List<Object> inOrder() {
            List<Object> values = new ArrayList<>();
            int last = parameters.isEmpty() ? 0 : parameters.lastKey();
            for (int number = 1; number <= last; number += 1) {
                values.add(parameters.get(number));
            }
            return values;
        }
    }

    /** The value as a key, if it can be one. */
    private static Object plain(Object value) throws SQLException {
        if (value instanceof java.sql.Date date) {
            return date.toLocalDate();
        } else if (value instanceof java.sql.Timestamp time) {
            return time.toInstant();
        }
        return value instanceof Array array ? array.getArray() : value;
    }
}
