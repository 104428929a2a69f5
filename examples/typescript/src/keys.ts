/**
 * Keys of a shard map: their JSON form, their order and their hash, as PostgreSQL has them.
 *
 * A value is given as the map's JSON has it, or as Node has it: number, bigint, string, Buffer, Date.
 * A string stands for itself in a text column, and for the text form of every other type.
 */

export type KeyType = "smallint" | "integer" | "bigint" | "text" | "uuid" | "bytea" | "date" | "timestamptz";
export type Value = number | bigint | string | Uint8Array | Date | { readonly [type: string]: string };

/** A column's value as PostgreSQL stores it. */
type Part =
  | { readonly kind: "int" | "timestamptz" | "date"; readonly value: bigint }
  | { readonly kind: "text" | "uuid" | "bytea"; readonly value: Buffer };
export type Key = readonly Part[];

/** The value is no key of the map: another type, or another number of columns. */
export class KeyError extends Error {}

const BITS: Partial<Record<KeyType, bigint>> = { smallint: 16n, integer: 32n, bigint: 64n };
const DAY = 86_400_000_000n;
/** Milliseconds from 1970 to 2000. */
const EPOCH = 946_684_800_000n;

/** The values as a key of a map whose key columns have these types. */
export function accept(types: readonly KeyType[], value: Value | readonly Value[]): Key {
  const parts = Array.isArray(value) ? (value as readonly Value[]) : [value as Value];
  if (parts.length !== types.length) {
    throw new KeyError(`${parts.length} value(s) for ${types.length} key column(s)`);
  }
  return types.map((type, at) => acceptPart(type, parts[at]!));
}

function acceptPart(type: KeyType, given: Value): Part {
  const value = plain(type, given);
  const bits = BITS[type];
  if (bits !== undefined) return { kind: "int", value: integer(type, bits, value) };
  switch (type) {
    case "text":
      if (typeof value !== "string" || value.includes("\0")) throw wrong(type, value);
      return { kind: type, value: Buffer.from(value, "utf8") };
    case "uuid":
      return { kind: type, value: hex(type, value, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i) };
    case "bytea":
      if (value instanceof Uint8Array) return { kind: type, value: Buffer.from(value) };
      return { kind: type, value: hex(type, value, /^\\x([0-9a-f]{2})*$/i) };
    case "date":
      return { kind: type, value: date(value) };
    default:
      return { kind: "timestamptz", value: timestamp(value) };
  }
}

function plain(type: KeyType, value: Value): Exclude<Value, { readonly [type: string]: string }> {
  if (typeof value !== "object" || value instanceof Uint8Array || value instanceof Date) return value;
  const text = value[type];
  if (text === undefined) throw wrong(type, JSON.stringify(value));
  return text;
}

function wrong(type: string, value: unknown): KeyError {
  return new KeyError(`${String(value)} is no ${type}`);
}

function integer(type: KeyType, bits: bigint, value: unknown): bigint {
  const whole =
    typeof value === "bigint" ||
    (typeof value === "number" && Number.isSafeInteger(value)) ||
    (typeof value === "string" && /^-?\d+$/.test(value));
  if (!whole) throw wrong(type, value);
  const number = BigInt(value as bigint | number | string);
  if (BigInt.asIntN(Number(bits), number) !== number) throw wrong(type, value);
  return number;
}

function hex(type: KeyType, value: unknown, form: RegExp): Buffer {
  if (typeof value !== "string" || !form.test(value)) throw wrong(type, value);
  return Buffer.from(value.replace(/^\\x/, "").replaceAll("-", ""), "hex");
}

/** Days since 2000-01-01. */
function date(value: unknown): bigint {
  if (value === "infinity") return (1n << 31n) - 1n;
  if (value === "-infinity") return -(1n << 31n);
  const match = typeof value === "string" ? /^(\d{4,7})-(\d\d)-(\d\d)( BC)?$/.exec(value) : null;
  if (match === null) throw wrong("date", value);
  const [year, month, day] = [match[1]!, match[2]!, match[3]!].map(BigInt) as [bigint, bigint, bigint];
  return days(match[4] ? 1n - year : year, month, day);
}

/** Microseconds since 2000-01-01 00:00:00+00. */
function timestamp(value: unknown): bigint {
  if (value instanceof Date) return (BigInt(value.getTime()) - EPOCH) * 1000n;
  if (value === "infinity") return (1n << 63n) - 1n;
  if (value === "-infinity") return -(1n << 63n);
  const form = /^(\d{4,6}-\d\d-\d\d) (\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?\+00( BC)?$/;
  const match = typeof value === "string" ? form.exec(value) : null;
  if (match === null) throw wrong("timestamptz in UTC", value);
  const [hours, minutes, seconds] = [match[2]!, match[3]!, match[4]!].map(BigInt) as [bigint, bigint, bigint];
  const micros = BigInt((match[5] ?? "0").padEnd(6, "0"));
  const time = ((hours * 60n + minutes) * 60n + seconds) * 1_000_000n + micros;
  return date(match[1]! + (match[6] ?? "")) * DAY + time;
}

/** Days since 2000-01-01 in the Gregorian calendar, also before it was there; year 0 is 1 BC. */
function days(of: bigint, month: bigint, day: bigint): bigint {
  // Years begin in March, so that the day that some years have more comes last.
  const year = month <= 2n ? of - 1n : of;
  const inYear = (153n * ((month + 9n) % 12n) + 2n) / 5n + day - 1n;
  return year * 365n + floor(year, 4n) - floor(year, 100n) + floor(year, 400n) + inYear - 730_425n;
}

function floor(value: bigint, by: bigint): bigint {
  const part = value / by;
  return value % by < 0n ? part - 1n : part;
}

/** Bytes whose order is the order of keys of one type. */
export function ordered(key: Key): Buffer {
  return Buffer.concat(key.map(orderedPart));
}

function orderedPart(part: Part): Buffer {
  switch (part.kind) {
    case "int":
    case "timestamptz": {
      const bytes = Buffer.alloc(8);
      bytes.writeBigUInt64BE(part.value + (1n << 63n));
      return bytes;
    }
    case "date": {
      const bytes = Buffer.alloc(4);
      bytes.writeUInt32BE(Number(part.value + (1n << 31n)));
      return bytes;
    }
    case "uuid":
      return part.value;
    default:
      return Buffer.from([...part.value].flatMap((byte) => (byte === 0 ? [0, 0xff] : [byte])).concat(0, 0));
  }
}

/** The virtual shard of a key, of so many (a power of two). */
export function bucket(key: Key, of: number): number {
  return Number(hash64(key) & BigInt(of - 1));
}

/** PostgreSQL's 64-bit hash with seed 0, without its sign; of a composite key that of a record. */
export function hash64(key: Key): bigint {
  const [only] = key;
  if (key.length === 1 && only !== undefined) return hashPart(only);
  return key.reduce((sum, part) => BigInt.asUintN(64, (sum << 5n) - sum + hashPart(part)), 0n);
}

function hashPart(part: Part): bigint {
  switch (part.kind) {
    case "int":
    case "timestamptz": {
      const [low, high] = [Number(BigInt.asIntN(32, part.value)), Number(BigInt.asIntN(32, part.value >> 32n))];
      return hashWord(low ^ (part.value >= 0n ? high : ~high));
    }
    case "date":
      return hashWord(Number(part.value));
    case "bytea":
      return hashBytes(Buffer.from(part.value.toString("hex")));
    default:
      return hashBytes(part.value);
  }
}

// What follows is Bob Jenkins' lookup3, as PostgreSQL has it in hash_bytes_extended; words are 32 bits of a number.

type State = [number, number, number];

const rotated = (word: number, by: number): number => (word << by) | (word >>> (32 - by));

function start(length: number): State {
  const word = (0x9e3779b9 + length + 3_923_095) | 0;
  return [word, word, word];
}

const MIX = [[0, 2, 1, 4], [1, 0, 2, 6], [2, 1, 0, 8], [0, 2, 1, 16], [1, 0, 2, 19], [2, 1, 0, 4]] as const;
const FINISH = [[2, 1, 14], [0, 2, 11], [1, 0, 25], [2, 1, 16], [0, 2, 4], [1, 0, 14], [2, 1, 24]] as const;

function mix(state: State): void {
  for (const [x, y, z, by] of MIX) {
    state[x] = ((state[x] - state[y]) ^ rotated(state[y], by)) | 0;
    state[y] = (state[y] + state[z]) | 0;
  }
}

function finish(state: State): bigint {
  for (const [x, y, by] of FINISH) state[x] = ((state[x] ^ state[y]) - rotated(state[y], by)) | 0;
  return (BigInt(state[1] >>> 0) << 32n) | BigInt(state[2] >>> 0);
}

function hashWord(value: number): bigint {
  const state = start(4);
  state[0] = (state[0] + value) | 0;
  return finish(state);
}

/** Up to four bytes from `at` on as a little-endian word. */
function word(bytes: Buffer, at: number, length = 4): number {
  let sum = 0;
  for (let index = Math.min(at + length, bytes.length) - 1; index >= at; index -= 1) sum = (sum << 8) | bytes[index]!;
  return sum;
}

function hashBytes(bytes: Buffer): bigint {
  const state = start(bytes.length);
  const whole = bytes.length - (bytes.length % 12);
  const add = (at: number, third: number): void => {
    state[0] = (state[0] + word(bytes, at)) | 0;
    state[1] = (state[1] + word(bytes, at + 4)) | 0;
    state[2] = (state[2] + third) | 0;
  };
  for (let at = 0; at < whole; at += 12) {
    add(at, word(bytes, at + 8));
    mix(state);
  }
  // The lowest byte of the third word is the length's.
  add(whole, word(bytes, whole + 8, 3) << 8);
  return finish(state);
}
