//! The settings of every session, regardless of the defaults of the role and the database.
//!
//! Sessions of tokio-postgres send them as statements. Sessions of the replication protocol, of the control store and
//! of started programs send them as connection options: a setting that changes the text form of values would change
//! what they read or write.

/// Each setting with its value.
///
/// Timeouts are off, because each step has its own deadline. The formats make text values equal on both shards.
/// Settings that affect the parsing of statements or the placement of objects have PostgreSQL's defaults.
pub const PINNED: [(&str, &str); 29] = [
    ("statement_timeout", "0"),
    ("lock_timeout", "0"),
    ("idle_in_transaction_session_timeout", "0"),
    ("idle_session_timeout", "0"),
    ("synchronous_commit", "on"),
    ("client_encoding", "UTF8"),
    ("standard_conforming_strings", "on"),
    ("backslash_quote", "safe_encoding"),
    ("escape_string_warning", "off"),
    ("transform_null_equals", "off"),
    ("quote_all_identifiers", "off"),
    ("exit_on_error", "off"),
    ("datestyle", "ISO,MDY"),
    ("intervalstyle", "postgres"),
    ("timezone", "UTC"),
    ("extra_float_digits", "3"),
    ("bytea_output", "hex"),
    ("lc_monetary", "C"),
    ("xmloption", "content"),
    ("xmlbinary", "base64"),
    ("array_nulls", "on"),
    ("search_path", ""),
    ("default_tablespace", ""),
    ("default_table_access_method", "heap"),
    ("row_security", "off"),
    ("jit", "off"),
    ("default_transaction_isolation", "read committed"),
    ("default_transaction_read_only", "off"),
    ("default_transaction_deferrable", "off"),
];

/// Sets a timeout that not every version has.
const SET_TRANSACTION_TIMEOUT: &str = "select case when pg_catalog.current_setting('transaction_timeout', true) is not null \
    then pg_catalog.set_config('transaction_timeout', '0', false) end";

/// Returns the settings as SQL statements.
pub(crate) fn statements() -> String {
    let set: Vec<String> = PINNED
        .iter()
        .map(|(name, value)| format!("set {name} = '{value}'"))
        .collect();
    format!("{}; {SET_TRANSACTION_TIMEOUT}", set.join("; "))
}

/// Returns the settings as connection options (`PGOPTIONS`).
#[must_use]
pub fn pinned_options() -> String {
    let options: Vec<String> = PINNED
        .iter()
        .map(|(name, value)| format!("-c {name}={}", value.replace(' ', "\\ ")))
        .collect();
    options.join(" ")
}
