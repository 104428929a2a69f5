/**
 * One version of a shard map, with an index from keys to shards. The index is built when the version arrives.
 *
 * The index has the bounds of the mappings in key order, or the listed keys, and for each the number of an owner.
 * Numeric keys are stored as 64-bit numbers, so that a map of a million keys needs about 12 MiB.
 */

import { type JsonBuckets, type JsonMap, type JsonMapping, readMap, type Settings } from "./document.js";
import { MapError, NotAKey, Unmapped } from "./errors.js";
import {
  accept, acceptEnd, bucket, display, isNumeric, type Key, keyAt, type KeyType, type KeyValue, type Place, placeOf,
} from "./keys.js";
import { compare, HashSet, type Interval, joined, type KeySet, ListSet, RangeSet } from "./key-set.js";

const MAX_BUCKETS = 2 ** 24;

/** Bounds in order: numbers of 64 bits, virtual shards, or bytes as characters. */
type Bounds = BigInt64Array | Uint32Array | readonly string[];

export class Routes {
  readonly name: string;
  readonly version: number;
  readonly incarnation: string;
  readonly strategy: string;
  readonly keyTypes: readonly KeyType[];
  readonly buckets: number;
  readonly settings: Settings;
  /** The shards that own keys, ordered by name. */
  readonly shards: readonly string[];
  readonly #index: Index;

  /** Reads the JSON of a map, checks it and builds the index. Throws `MapError`. */
  constructor(text: string) {
    const map = readMap(text);
    ({ name: this.name, version: this.version, incarnation: this.incarnation, strategy: this.strategy } = map);
    this.keyTypes = map.key;
    this.buckets = map.buckets ?? 0;
    this.settings = map.settings ?? {};
    this.shards = [...new Set(map.mappings.map(({ shard }) => shard))].sort();
    checkForm(this);
    try {
      this.#index = new Index(this, map);
    } catch (error) {
      if (!(error instanceof NotAKey)) throw error;
      throw new MapError(`map ${this.name}: ${error.message}`, { cause: error });
    }
  }

  /** Returns the shard that owns `key`. Throws `Unmapped`, or `NotAKey` if it is no key of this map. */
  shardFor(key: KeyValue): string {
    return this.shardOf(this.accept(key));
  }

  /** Converts `key` to the key types of this map. Throws `NotAKey`. */
  accept(key: KeyValue): Key {
    try {
      return accept(this.keyTypes, key);
    } catch (error) {
      if (!(error instanceof NotAKey)) throw error;
      throw new NotAKey(`${error.message}, and so no key of map ${this.name}`);
    }
  }

  /** Returns the owner of a key that `accept` has converted. Throws `Unmapped`. */
  shardOf(key: Key): string {
    const shard = this.shards[this.#index.ownerOf(key) - 1];
    if (shard !== undefined) return shard;
    const shown = display(this.keyTypes, key);
    throw new Unmapped(`key ${shown} is in no mapping of map ${this.name} version ${this.version}`);
  }

  /** Returns all keys that `shard` owns. */
  ownedBy(shard: string): KeySet {
    return this.#index.ownedBy(this.shards.indexOf(shard) + 1);
  }
}

function checkForm({ name, strategy, keyTypes, buckets }: Routes): void {
  const [columns, isHash] = [keyTypes.length, strategy === "hash"];
  let problem: string | undefined;
  if (!["range", "hash", "list"].includes(strategy)) {
    problem = `the strategy ${strategy} is unknown to this version of the library`;
  } else if (columns < 1 || columns > 3) {
    problem = `a key has 1 to 3 columns, not ${columns}`;
  } else if (columns > 1 && strategy !== "range") {
    problem = `a ${strategy} map has one key column, not ${columns}`;
  } else if (isHash && !(buckets > 0 && buckets <= MAX_BUCKETS && Number.isInteger(Math.log2(buckets)))) {
    problem = `${buckets} virtual shards are not a power of two up to ${MAX_BUCKETS}`;
  } else if (!isHash && buckets !== 0) {
    problem = `a ${strategy} map has no virtual shards`;
  }
  if (problem !== undefined) throw new MapError(`map ${name}: ${problem}`);
}

/** A part of a map: from its start to its end, which is excluded, and the number of its owner. */
type Piece<P> = readonly [P | undefined, P | undefined, number];

/**
 * For a list map, `bounds` are the keys and `owners` their owners. Otherwise `owners` has one entry more: the owner below
 * the first bound, and then the owner from each bound on. 0 means that there is none.
 */
class Index {
  readonly #types: readonly KeyType[];
  readonly #name: string;
  readonly #strategy: string;
  readonly #of: number;
  readonly #numbers: ReadonlyMap<string, number>;
  readonly #exceptions = new Map<Place, number>();
  #bounds: Bounds = [];
  #owners = new Uint32Array();

  constructor({ keyTypes, name, strategy, buckets, shards }: Routes, { mappings }: JsonMap) {
    [this.#types, this.#name, this.#strategy, this.#of] = [keyTypes, name, strategy, buckets];
    this.#numbers = new Map(shards.map((shard, at) => [shard, at + 1]));
    if (strategy === "range") this.#addPieces(this.#rangePieces(mappings));
    else if (strategy === "hash") this.#addPieces(this.#bucketPieces(mappings));
    else this.#addList(mappings);
  }

  ownerOf(key: Key): number {
    const place = placeOf(this.#types, key);
    const exception = this.#exceptions.get(place);
    if (exception !== undefined) return exception;
    if (this.#strategy !== "list") {
      return this.#owners[countUpTo(this.#bounds, this.#of > 0 ? bucket(this.#types, key, this.#of) : place)] ?? 0;
    }
    const at = countUpTo(this.#bounds, place) - 1;
    return this.#bounds[at] === place ? this.#owners[at]! : 0;
  }

  ownedBy(owner: number): KeySet {
    const types = this.#types;
    if (this.#strategy === "list") {
      const keys = [...this.#bounds.keys()].filter((at) => this.#owners[at] === owner);
      return new ListSet(types, keys.map((at) => keyAt(types, this.#bounds[at] as Place)));
    }
    const pieces = joined<number | Place>(this.#piecesOf(owner));
    if (this.#strategy === "range") return new RangeSet(types, pieces as Interval<Place>[]);
    const ranges = pieces as [number, number][];
    const plain = new HashSet(types, this.#of, ranges);
    const exceptions = [...this.#exceptions].map(([place, of]) => [keyAt(types, place), of] as const);
    const differing = exceptions.filter(([key, of]) => plain.hasBucketOf(key) !== (of === owner));
    return new HashSet(types, this.#of, ranges, differing.map(([key]) => key));
  }

  #piecesOf(owner: number): Interval<number | Place>[] {
    const pieces: Interval<number | Place>[] = [];
    for (const [at, one] of this.#owners.entries()) {
      if (one === owner) pieces.push([this.#bounds[at - 1], this.#bounds[at]]);
    }
    return pieces;
  }

  #rangePieces(mappings: readonly JsonMapping[]): Piece<Place>[] {
    const [type] = this.#types;
    const isPlain = this.#types.length === 1 && (type === "bigint" || type === "integer" || type === "smallint");
    const placeOfEnd = (end: KeyValue | undefined): Place | undefined => {
      if (end === undefined) return undefined;
      // A number is its own key: no conversion, which takes most of the time.
      return isPlain && Number.isSafeInteger(end) ? BigInt(end as number) : placeOf(this.#types, acceptEnd(this.#types, end));
    };
    return mappings.flatMap((mapping) => {
      const owner = this.#numbers.get(mapping.shard)!;
      const ranges = this.#part(mapping, mapping.keys.range);
      return ranges.map(({ from, to }): Piece<Place> => [placeOfEnd(from), placeOfEnd(to), owner]);
    });
  }

  #bucketPieces(mappings: readonly JsonMapping[]): Piece<number>[] {
    const missing = new Map<Place, Key>();
    const pieces = mappings.flatMap((mapping) => {
      const owner = this.#numbers.get(mapping.shard)!;
      const [buckets] = this.#part(mapping, mapping.keys.hash && [mapping.keys.hash]);
      const { of, ranges } = buckets!;
      if (of !== this.#of || ranges.some(({ from, to }) => !(from >= 0 && from <= to && to <= of))) {
        throw new MapError(`map ${this.#name}: virtual shards of ${mapping.shard} are not those of the map`);
      }
      this.#addExceptions(buckets!, owner, missing);
      return ranges.map(({ from, to }): Piece<number> => [from, to, owner]);
    });
    for (const [place, key] of missing) {
      if (this.#exceptions.has(place)) continue;
      const shown = display(this.#types, key);
      throw new MapError(`map ${this.#name}: its virtual shards except key ${shown}, which has no owner`);
    }
    return pieces;
  }

  #addExceptions({ ranges, except }: JsonBuckets, owner: number, missing: Map<Place, Key>): void {
    for (const value of except ?? []) {
      const key = accept(this.#types, value);
      const [place, at] = [placeOf(this.#types, key), bucket(this.#types, key, this.#of)];
      if (ranges.some(({ from, to }) => from <= at && at < to)) missing.set(place, key);
      else if ((this.#exceptions.get(place) ?? owner) !== owner) throw this.#twoOwners(place);
      else this.#exceptions.set(place, owner);
    }
  }

  #addList(mappings: readonly JsonMapping[]): void {
    const entries = mappings.flatMap((mapping) => {
      const owner = this.#numbers.get(mapping.shard)!;
      const keys = this.#part(mapping, mapping.keys.list);
      return keys.map((key) => [placeOf(this.#types, accept(this.#types, key)), owner] as const);
    });
    entries.sort(([one], [other]) => compare(one, other));
    for (const [at, [place, owner]] of entries.entries()) {
      const following = entries[at + 1];
      if (following?.[0] === place && following[1] !== owner) throw this.#twoOwners(place);
    }
    this.#store(entries.map(([place]) => place), entries.map(([, owner]) => owner));
  }

  #addPieces<P extends number | Place>(unordered: readonly Piece<P>[]): void {
    const pieces = unordered.filter(([start, end]) => start === undefined || end === undefined || start < end);
    pieces.sort(([one], [other]) => compare(one, other));
    const [bounds, owners]: [P[], number[]] = [[], [0]];
    let last: Piece<P> | undefined;
    for (const piece of pieces) {
      const [start, end, owner] = piece;
      const overlaps = last !== undefined && (last[1] === undefined || start === undefined || start < last[1]);
      if (overlaps) throw new MapError(`map ${this.#name}: mappings overlap at ${this.#shown(start)}`);
      if (start === undefined || (last !== undefined && start === last[1])) {
        owners[owners.length - 1] = owner;
      } else {
        bounds.push(start);
        owners.push(owner);
      }
      if (end !== undefined) {
        bounds.push(end);
        owners.push(0);
      }
      last = piece;
    }
    this.#store(bounds, owners);
  }

  #store(bounds: readonly (number | Place)[], owners: readonly number[]): void {
    const [type] = this.#types;
    if (this.#of > 0) this.#bounds = Uint32Array.from(bounds as readonly number[]);
    else if (this.#types.length === 1 && isNumeric(type!)) this.#bounds = BigInt64Array.from(bounds as readonly bigint[]);
    else this.#bounds = bounds as readonly string[];
    this.#owners = Uint32Array.from(owners);
  }

  /** The part of a key set that belongs to the strategy of the map. */
  #part<T>({ shard }: JsonMapping, part: readonly T[] | undefined): readonly T[] {
    if (Array.isArray(part) && part.length > 0) return part as readonly T[];
    throw new MapError(`map ${this.#name}: a key set of shard ${shard} is empty, or of another strategy`);
  }

  #twoOwners(place: Place): MapError {
    return new MapError(`map ${this.#name}: key ${this.#shown(place)} has two owners`);
  }

  #shown(place: number | Place | undefined): string {
    if (typeof place === "number") return `virtual shard ${place}`;
    return place === undefined ? "their lower end" : display(this.#types, keyAt(this.#types, place));
  }
}

/** The number of bounds that are not above `place`, by binary search. */
function countUpTo(bounds: Bounds, place: number | Place): number {
  let [low, high] = [0, bounds.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (bounds[middle]! <= place) low = middle + 1;
    else high = middle;
  }
  return low;
}
