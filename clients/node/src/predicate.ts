/** The SQL of a set of keys: the conditions that Shardwright itself uses in guards, copies and comparisons. */

import { catalogName, type Column, type Key, type KeyType, text } from "./keys.js";

/** The condition for a range of keys. */
export function ofRange(types: readonly KeyType[], columns: readonly string[], start?: Key, end?: Key): string {
  const parts = [];
  if (start !== undefined) parts.push(comparison(types, columns, ">=", start));
  if (end !== undefined) parts.push(comparison(types, columns, "<", end));
  return parts.length === 0 ? "(true)" : `(${parts.join(" and ")})`;
}

/** The conditions for ranges of virtual shards. */
export function ofBuckets(
  types: readonly KeyType[],
  columns: readonly string[],
  of: number,
  ranges: readonly (readonly [number, number])[],
): string[] {
  const bucket = `(${hashSql(types, columns)} operator(pg_catalog.&) ${of - 1}::pg_catalog.int8)`;
  return ranges.map(
    ([start, end]) => `(${bucket} operator(pg_catalog.>=) ${start} and ${bucket} operator(pg_catalog.<) ${end})`,
  );
}

/** The condition for single keys. */
export function ofList(types: readonly KeyType[], columns: readonly string[], keys: readonly Key[]): string {
  const type = types[0]!;
  const escaped = (key: Key): string => `"${text(type, key[0]!).replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
  const array = `${literal(`{${keys.map(escaped).join(",")}}`)}::pg_catalog.${catalogName(type)}[]`;
  return `(${comparable(type, columns[0]!)} operator(pg_catalog.=) any (${array}))`;
}

function comparison(types: readonly KeyType[], columns: readonly string[], operator: string, key: Key): string {
  const left = types.map((type, at) => comparable(type, columns[at]!));
  const right = types.map((type, at) => typed(type, key[at]!));
  if (types.length === 1) return `${left[0]} operator(pg_catalog.${operator}) ${right[0]}`;
  return `row(${left.join(", ")}) operator(pg_catalog.${operator}) row(${right.join(", ")})`;
}

function typed(type: KeyType, column: Column): string {
  return `${literal(text(type, column))}::pg_catalog.${catalogName(type, column)}`;
}

function comparable(type: KeyType, column: string): string {
  return type === "text" ? `(${column}::pg_catalog.text collate pg_catalog."C")` : column;
}

function hashSql(types: readonly KeyType[], columns: readonly string[]): string {
  const [type, column] = [types[0]!, columns[0]!];
  if (types.length > 1) {
    return `pg_catalog.hash_record_extended(row(${types.map((one, at) => comparable(one, columns[at]!)).join(", ")}), 0)`;
  }
  switch (type) {
    case "text":
      return `pg_catalog.hashtextextended(${column}::pg_catalog.text collate pg_catalog."C", 0)`;
    case "uuid":
      return `pg_catalog.uuid_hash_extended(${column}, 0)`;
    case "bytea":
      // The hash function of bytea itself exists in SQL only since PostgreSQL 18.
      return `pg_catalog.hashtextextended(pg_catalog.encode(${column}, 'hex') collate pg_catalog."C", 0)`;
    case "date":
    case "timestamptz":
      return `pg_catalog.hash_record_extended(row(${column}), 0)`;
    default:
      return `pg_catalog.hashint8extended(${column}::pg_catalog.int8, 0)`;
  }
}

function literal(value: string): string {
  const quoted = value.replaceAll("'", "''");
  return value.includes("\\") ? `e'${quoted.replaceAll("\\", "\\\\")}'` : `'${quoted}'`;
}
