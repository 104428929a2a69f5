/** One version of a shard map with an index from keys to shards, built when the version arrives. */

import { accept, bucket, type KeyType, ordered, type Value } from "./keys.js";

/** What holds a range, as the map's JSON has it; a missing end has no bound. */
interface Range {
  readonly from?: Value | readonly Value[];
  readonly to?: Value | readonly Value[];
}

interface Buckets {
  readonly of: number;
  readonly ranges: readonly { readonly from: number; readonly to: number }[];
  /** Keys of a virtual shard that the set lacks, and single keys of other virtual shards. */
  readonly except?: readonly Value[];
}

export type KeySet =
  | { readonly range: readonly Range[] }
  | { readonly hash: Buckets }
  | { readonly list: readonly (Value | readonly Value[])[] };

/** A map as the controller gives it: `GET /api/v1/maps/NAME`. */
export interface MapDocument {
  readonly name: string;
  readonly version: number;
  readonly key: readonly KeyType[];
  readonly buckets?: number;
  readonly mappings: readonly { readonly keys: KeySet; readonly shard: string }[];
}

/** Reads JSON whose whole numbers may be larger than those of JavaScript: such a number comes as a string. */
export function parse(text: string): unknown {
  return JSON.parse(text.replace(/"(?:\\.|[^"\\])*"|-?\d{16,}/g, (part) => (part.startsWith('"') ? part : `"${part}"`)));
}

/** No mapping of the map holds the key. */
export class Unmapped extends Error {}

interface Span<P> {
  readonly from: P;
  readonly to: P | null;
  readonly shard: string;
}

export class Routes {
  readonly name: string;
  readonly version: number;
  readonly #types: readonly KeyType[];
  readonly #buckets: number;
  readonly #ranges: Span<Buffer>[] = [];
  readonly #hashed: Span<number>[] = [];
  /** Single keys, which come before their virtual shard. Without a shard: the virtual shard lacks the key. */
  readonly #listed = new Map<string, string | undefined>();

  constructor(document: MapDocument) {
    this.name = document.name;
    this.version = document.version;
    this.#types = document.key;
    this.#buckets = document.buckets ?? 0;
    for (const { keys, shard } of document.mappings) this.#take(keys, shard);
    this.#ranges.sort((one, other) => Buffer.compare(one.from, other.from));
    this.#hashed.sort((one, other) => one.from - other.from);
  }

  #take(keys: KeySet, shard: string): void {
    if ("list" in keys) {
      for (const key of keys.list) this.#listed.set(ordered(accept(this.#types, key)).toString("hex"), shard);
    } else if ("hash" in keys) {
      for (const { from, to } of keys.hash.ranges) this.#hashed.push({ from, to, shard });
      for (const key of keys.hash.except ?? []) this.#except(accept(this.#types, key), keys.hash, shard);
    } else {
      for (const { from, to } of keys.range) {
        this.#ranges.push({ from: this.#end(from) ?? Buffer.alloc(0), to: this.#end(to), shard });
      }
    }
  }

  #except(key: ReturnType<typeof accept>, { ranges }: Buckets, shard: string): void {
    const [place, at] = [ordered(key).toString("hex"), bucket(key, this.#buckets)];
    if (!ranges.some(({ from, to }) => from <= at && at < to)) this.#listed.set(place, shard);
    else if (!this.#listed.has(place)) this.#listed.set(place, undefined);
  }

  #end(end: Value | readonly Value[] | undefined): Buffer | null {
    // The end behind the last key of a type is no value of it.
    const wide = (type: KeyType): KeyType => (type === "smallint" || type === "integer" ? "bigint" : type);
    return end === undefined ? null : ordered(accept(this.#types.map(wide), end));
  }

  /** The shard that owns the key. Throws `Unmapped`, or `KeyError` where it is no key of this map. */
  shardFor(key: Value | readonly Value[]): string {
    const accepted = accept(this.#types, key);
    const place = ordered(accepted).toString("hex");
    const shard = this.#listed.has(place)
      ? this.#listed.get(place)
      : this.#buckets > 0
        ? held(this.#hashed, bucket(accepted, this.#buckets), (one, other) => one - other)
        : held(this.#ranges, ordered(accepted), Buffer.compare);
    if (shard === undefined) {
      throw new Unmapped(`key ${String(key)} is in no mapping of map ${this.name} version ${this.version}`);
    }
    return shard;
  }
}

/** The span that holds the place, by binary search. */
function held<P>(spans: readonly Span<P>[], place: P, compare: (one: P, other: P) => number): string | undefined {
  let [low, high] = [0, spans.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compare(spans[middle]!.from, place) <= 0) low = middle + 1;
    else high = middle;
  }
  const span = spans[low - 1];
  return span && (span.to === null || compare(place, span.to) < 0) ? span.shard : undefined;
}
