package shardwright.client;

/**
 * A column of a table that a query names.
 *
 * @param table the table
 * @param column the name of the column
 */
record ColumnPlace(NamedTable table, String column) {}
