/**
 * Keys of a shard map: their types, their order, their texts and their virtual shards, as in PostgreSQL.
 *
 * A value has the form of the map's JSON or of Node: number, bigint, string, Uint8Array, Date. A number
 * beyond 2^53 is refused, because it is not exact: pass a bigint or a string.
 */

import { NotAKey } from "./errors.js";
import { hashBytes, hashInt8, hashWord } from "./hash.js";
import { dateText, readDate, readTimestamp, timestampOf, timestampText } from "./times.js";

export type KeyType = "smallint" | "integer" | "bigint" | "text" | "uuid" | "bytea" | "date" | "timestamptz";
/** A value of the application for one column; an object is the form in JSON, such as `{uuid: "…"}`. */
export type ColumnValue = number | bigint | string | Uint8Array | Date | { readonly [type: string]: string };
/** A value of the application that can be a key. An array is a composite key. */
export type KeyValue = ColumnValue | readonly ColumnValue[];
/** A column's value as PostgreSQL stores it: a number (also days and microseconds since 2000-01-01), or bytes. */
export type Column = bigint | Buffer;
export type Key = readonly Column[];
/** A value whose order is the order of keys: a numeric key itself, otherwise bytes as characters. */
export type Place = bigint | string;

const BITS: Partial<Record<KeyType, number>> = { smallint: 16, integer: 32, bigint: 64 };
const CATALOG_NAMES: Partial<Record<KeyType, string>> = { smallint: "int2", integer: "int4", bigint: "int8" };
const UUID = /^(?:[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/i;
const BYTEA = /^\\x(?:[0-9a-f]{2})*$/i;
const LONE_SURROGATE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;

/** Whether a key of this type is a number. */
export function isNumeric(type: KeyType): boolean {
  return type in BITS || type === "date" || type === "timestamptz";
}

/** Converts a value of the application to a key with these types. */
export function accept(types: readonly KeyType[], value: KeyValue): Key {
  const parts = Array.isArray(value) ? (value as readonly ColumnValue[]) : [value as ColumnValue];
  if (parts.length !== types.length) {
    throw new NotAKey(`${shown(value)} has ${parts.length} value(s), the key has ${types.length} column(s)`);
  }
  return types.map((type, at) => {
    const column = converted(type, parts[at]);
    if (column === undefined) throw new NotAKey(`${shown(parts[at])} is not a ${type}`);
    return column;
  });
}

/** Converts the end of a range. After the last value of a small integer type comes a value of a larger one. */
export function acceptEnd(types: readonly KeyType[], value: KeyValue): Key {
  return accept(types.map((type) => (type in BITS ? "bigint" : type)), value);
}

function converted(type: KeyType, original: unknown): Column | undefined {
  const value = plain(type, original);
  const bits = BITS[type];
  if (bits !== undefined) return integer(bits, value);
  const text = typeof value === "string" ? value : undefined;
  switch (type) {
    case "text":
      return text === undefined || text.includes("\0") || LONE_SURROGATE.test(text) ? undefined : Buffer.from(text);
    case "uuid":
      return text !== undefined && UUID.test(text) ? Buffer.from(text.replaceAll("-", ""), "hex") : undefined;
    case "bytea":
      if (value instanceof Uint8Array) return Buffer.from(value);
      return text !== undefined && BYTEA.test(text) ? Buffer.from(text.slice(2), "hex") : undefined;
    case "date":
      return text === undefined ? undefined : readDate(text);
    default:
      return value instanceof Date ? timestampOf(value) : text === undefined ? undefined : readTimestamp(text);
  }
}

/** The value itself, or that in an object with the name of the type. */
function plain(type: KeyType, value: unknown): unknown {
  if (typeof value !== "object" || value === null || value instanceof Uint8Array || value instanceof Date) return value;
  const [entry, ...more] = Object.entries(value);
  return entry?.[0] === type && typeof entry[1] === "string" && more.length === 0 ? entry[1] : undefined;
}

function integer(bits: number, value: unknown): bigint | undefined {
  const isWhole =
    typeof value === "bigint" ||
    (typeof value === "number" && Number.isSafeInteger(value)) ||
    (typeof value === "string" && /^[+-]?\d+$/.test(value));
  if (!isWhole) return undefined;
  const number = BigInt(typeof value === "string" ? value.replace(/^\+/, "") : (value as bigint | number));
  return BigInt.asIntN(bits, number) === number ? number : undefined;
}

/** A value whose order is the order of keys. */
export function placeOf(types: readonly KeyType[], key: Key): Place {
  const [only] = key;
  if (key.length === 1 && typeof only === "bigint") return only;
  return Buffer.concat(key.map((column, at) => orderedBytes(types[at]!, column))).toString("latin1");
}

function orderedBytes(type: KeyType, column: Column): Buffer {
  if (typeof column === "bigint") {
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64BE(column + (1n << 63n));
    return bytes;
  }
  if (type === "uuid") return column;
  if (!column.includes(0)) return Buffer.concat([column, Buffer.alloc(2)]);
  return Buffer.from([...column].flatMap((byte) => (byte === 0 ? [0, 0xff] : [byte])).concat(0, 0));
}

/** The key at a place: the inverse of `placeOf`. */
export function keyAt(types: readonly KeyType[], place: Place): Key {
  if (typeof place === "bigint") return [place];
  const bytes = Buffer.from(place, "latin1");
  let at = 0;
  return types.map((type) => {
    if (isNumeric(type)) return bytes.readBigUInt64BE((at += 8) - 8) - (1n << 63n);
    if (type === "uuid") return bytes.subarray(at, (at += 16));
    const column: number[] = [];
    while (bytes[at] !== 0 || bytes[at + 1] !== 0) {
      column.push(bytes[at]!);
      at += bytes[at] === 0 ? 2 : 1;
    }
    at += 2;
    return Buffer.from(column);
  });
}

/** The number of the key's virtual shard among `of`, a power of two. */
export function bucket(types: readonly KeyType[], key: Key, of: number): number {
  return Number(hash64(types, key) & BigInt(of - 1));
}

/** PostgreSQL's 64-bit hash with seed 0, without its sign; of a composite key that of a record. */
export function hash64(types: readonly KeyType[], key: Key): bigint {
  const hashes = key.map((column, at) => hashColumn(types[at]!, column));
  return hashes.length === 1 ? hashes[0]! : hashes.reduce((sum, hash) => BigInt.asUintN(64, (sum << 5n) - sum + hash), 0n);
}

function hashColumn(type: KeyType, column: Column): bigint {
  if (typeof column === "bigint") return type === "date" ? hashWord(Number(column)) : hashInt8(column);
  return hashBytes(type === "bytea" ? Buffer.from(column.toString("hex")) : column);
}

/** The text of a column's value, as PostgreSQL prints it. */
export function text(type: KeyType, column: Column): string {
  if (typeof column === "bigint") {
    return type === "date" ? dateText(column) : type === "timestamptz" ? timestampText(column) : column.toString();
  }
  if (type === "text") return column.toString();
  const hex = column.toString("hex");
  return type === "uuid" ? hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-") : `\\x${hex}`;
}

/** The key in messages. */
export function display(types: readonly KeyType[], key: Key): string {
  const texts = key.map((column, at) => (types[at] === "text" ? JSON.stringify(text("text", column)) : text(types[at]!, column)));
  return texts.length === 1 ? texts[0]! : `(${texts.join(", ")})`;
}

/** The name of the type in `pg_type`; for the end of a range, that of a type that can hold the value. */
export function catalogName(type: KeyType, column?: Column): string {
  const bits = BITS[type];
  if (bits !== undefined && typeof column === "bigint" && BigInt.asIntN(bits, column) !== column) return "int8";
  return CATALOG_NAMES[type] ?? type;
}

function shown(value: unknown): string {
  const asText = (_: string, part: unknown): unknown => (typeof part === "bigint" ? part.toString() : part);
  return typeof value === "bigint" ? value.toString() : (JSON.stringify(value, asText) ?? String(value));
}
