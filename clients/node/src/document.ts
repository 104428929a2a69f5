/** The JSON of a shard map (docs/types.md). Unknown fields are ignored, as the API requires. */

import { MapError } from "./errors.js";
import type { KeyType, KeyValue } from "./keys.js";

/** A range of keys; a missing end has no bound. */
export interface JsonRange {
  readonly from?: KeyValue;
  readonly to?: KeyValue;
}

/** Ranges of virtual shards, and single keys that differ from their virtual shard. */
export interface JsonBuckets {
  readonly of: number;
  readonly ranges: readonly { readonly from: number; readonly to: number }[];
  readonly except?: readonly KeyValue[];
}

/** A set of keys; exactly one field is present. */
export interface JsonKeySet {
  readonly range?: readonly JsonRange[];
  readonly hash?: JsonBuckets;
  readonly list?: readonly KeyValue[];
}

/** The settings of a map: its tables with their key columns, and tables that have the same rows on every shard. */
export interface Settings {
  readonly keyed_by?: string;
  readonly tables?: Readonly<Record<string, string | readonly string[]>>;
  readonly groups?: Readonly<Record<string, readonly string[]>>;
  readonly reference?: readonly string[];
}

export interface JsonMapping {
  readonly keys: JsonKeySet;
  readonly shard: string;
}

/** One version of a shard map. */
export interface JsonMap {
  readonly name: string;
  readonly strategy: string;
  readonly key: readonly KeyType[];
  readonly version: number;
  readonly incarnation: string;
  readonly mappings: readonly JsonMapping[];
  readonly buckets?: number;
  readonly settings?: Settings;
}

/** Reads JSON without loss: an integer that a number does not hold exactly becomes a bigint. */
export function parseJson(text: string): unknown {
  if (!/\d{16}/.test(text)) return JSON.parse(text);
  // Only integers outside of strings get a mark, which no string of the document can have: it begins with a zero byte,
  // which JSON writes as an escape.
  const marked = text.replace(/"(?:[^"\\]|\\.)*"|-?\d{16,}(?![\d.eE])/g, (part) =>
    part.startsWith('"') ? part : `"\\u0000${part}"`,
  );
  return JSON.parse(marked, (_, value: unknown) =>
    typeof value === "string" && /^\0-?\d+$/.test(value) ? exact(value.slice(1)) : value,
  );
}

function exact(digits: string): bigint | number {
  const number = Number(digits);
  return Number.isSafeInteger(number) ? number : BigInt(digits);
}

/** Reads the JSON of a map, and checks the types of its fields as far as the index depends on them. */
export function readMap(text: string): JsonMap {
  let map: Partial<JsonMap> | null;
  try {
    map = parseJson(text) as Partial<JsonMap> | null;
  } catch (error) {
    throw new MapError(`the answer is not JSON: ${String(error)}`, { cause: error });
  }
  const isMap =
    typeof map === "object" &&
    map !== null &&
    typeof map.name === "string" &&
    typeof map.strategy === "string" &&
    typeof map.incarnation === "string" &&
    Number.isSafeInteger(map.version) &&
    Array.isArray(map.key) &&
    Array.isArray(map.mappings) &&
    map.mappings.every((mapping) => typeof mapping?.shard === "string" && typeof mapping.keys === "object");
  if (!isMap) throw new MapError("the JSON is not a shard map: a field is missing or has another type");
  return map as JsonMap;
}
