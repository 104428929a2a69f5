/**
 * Sets of keys, and the SQL condition for the rows of a set.
 *
 * A set is kept in normal form: ordered, without empty parts, and with adjacent parts joined. `contains` and the
 * condition agree with what PostgreSQL computes.
 */

import type { JsonKeySet } from "./document.js";
import { MapError, NotAKey } from "./errors.js";
import { accept, acceptEnd, bucket, type Key, keyAt, type KeyType, type KeyValue, type Place, placeOf } from "./keys.js";
import { ofBuckets, ofList, ofRange } from "./predicate.js";

/** A half-open interval; a missing end is unbounded. */
export type Interval<P> = readonly [P | undefined, P | undefined];

/** A set of keys of one map. */
export abstract class KeySet {
  constructor(readonly types: readonly KeyType[]) {}

  /** Whether a key that was converted to the types is in the set. */
  abstract contains(key: Key): boolean;

  /** SQL conditions, one of which is true for each row of the set. */
  protected abstract conditions(columns: readonly string[]): string[];

  /** Returns the SQL condition for the rows of the set. `columns` are the SQL names of the key's columns. */
  predicate(columns: readonly string[]): string {
    if (columns.length !== this.types.length) {
      throw new NotAKey(`${columns.join(", ")}: ${columns.length} column(s), the key has ${this.types.length}`);
    }
    const conditions = this.conditions(columns);
    if (conditions.length === 0) return "(false)";
    return conditions.length === 1 ? conditions[0]! : `(${conditions.join(" or ")})`;
  }
}

/** Ranges of keys. */
export class RangeSet extends KeySet {
  constructor(types: readonly KeyType[], readonly ranges: readonly Interval<Place>[]) {
    super(types);
  }

  contains(key: Key): boolean {
    const at = placeOf(this.types, key);
    return this.ranges.some(([start, end]) => (start === undefined || start <= at) && (end === undefined || at < end));
  }

  protected conditions(columns: readonly string[]): string[] {
    const keyOf = (end: Place | undefined): Key | undefined => (end === undefined ? end : keyAt(this.types, end));
    return this.ranges.map(([start, end]) => ofRange(this.types, columns, keyOf(start), keyOf(end)));
  }
}

/** Ranges of virtual shards, and single keys that differ from their virtual shard. */
export class HashSet extends KeySet {
  readonly #exceptions: ReadonlyMap<Place, Key>;

  constructor(
    types: readonly KeyType[],
    readonly of: number,
    readonly ranges: readonly (readonly [number, number])[],
    exceptions: Iterable<Key> = [],
  ) {
    super(types);
    this.#exceptions = new Map([...exceptions].map((key) => [placeOf(types, key), key]));
  }

  contains(key: Key): boolean {
    return this.hasBucketOf(key) !== this.#exceptions.has(placeOf(this.types, key));
  }

  /** Whether the virtual shard of the key is in a range of the set. */
  hasBucketOf(key: Key): boolean {
    const at = bucket(this.types, key, this.of);
    return this.ranges.some(([start, end]) => start <= at && at < end);
  }

  protected conditions(columns: readonly string[]): string[] {
    const exceptions = inOrder(this.#exceptions);
    const missing = exceptions.filter((key) => this.hasBucketOf(key));
    const single = exceptions.filter((key) => !this.hasBucketOf(key));
    let conditions = ofBuckets(this.types, columns, this.of, this.ranges);
    if (missing.length > 0) {
      conditions = [`((${conditions.join(" or ")}) and not ${ofList(this.types, columns, missing)})`];
    }
    return single.length > 0 ? [...conditions, ofList(this.types, columns, single)] : conditions;
  }
}

/** Single keys. */
export class ListSet extends KeySet {
  readonly #keys: ReadonlyMap<Place, Key>;

  constructor(types: readonly KeyType[], keys: Iterable<Key>) {
    super(types);
    this.#keys = new Map([...keys].map((key) => [placeOf(types, key), key]));
  }

  contains(key: Key): boolean {
    return this.#keys.has(placeOf(this.types, key));
  }

  protected conditions(columns: readonly string[]): string[] {
    return this.#keys.size === 0 ? [] : [ofList(this.types, columns, inOrder(this.#keys))];
  }
}

/** Converts a set from a map's JSON. */
export function readKeySet(types: readonly KeyType[], { range, hash, list }: JsonKeySet): KeySet {
  const acceptAll = (keys: readonly KeyValue[]): Key[] => keys.map((key) => accept(types, key));
  if (hash !== undefined) {
    const ranges = joined(hash.ranges.map(({ from, to }) => [from, to] as const));
    return new HashSet(types, hash.of, ranges as [number, number][], acceptAll(hash.except ?? []));
  }
  if (list !== undefined) return new ListSet(types, acceptAll(list));
  if (range === undefined) throw new MapError("a set of keys has neither ranges nor virtual shards nor a list");
  const place = (end: KeyValue | undefined): Place | undefined =>
    end === undefined ? undefined : placeOf(types, acceptEnd(types, end));
  return new RangeSet(types, joined(range.map(({ from, to }) => [place(from), place(to)] as const)));
}

/** Intervals in order, without empty ones, with adjacent and overlapping ones joined. */
export function joined<P extends number | Place>(intervals: readonly Interval<P>[]): Interval<P>[] {
  const filled = intervals.filter(([start, end]) => start === undefined || end === undefined || start < end);
  filled.sort(([one], [other]) => compare(one, other));
  const merged: Interval<P>[] = [];
  for (const [start, end] of filled) {
    const last = merged.at(-1);
    const isReached = last !== undefined && (last[1] === undefined || start === undefined || start <= last[1]);
    if (!isReached) merged.push([start, end]);
    else if (last[1] !== undefined && (end === undefined || end > last[1])) merged[merged.length - 1] = [last[0], end];
  }
  return merged;
}

/** Compares two lower ends; a missing one is the least. */
export function compare<P extends number | Place>(one: P | undefined, other: P | undefined): number {
  if (one === other) return 0;
  return one === undefined || (other !== undefined && one < other) ? -1 : 1;
}

function inOrder(keys: ReadonlyMap<Place, Key>): Key[] {
  return [...keys].sort(([one], [other]) => compare(one, other)).map(([, key]) => key);
}
