/** The parts of a query to all shards, and its answers. */

import type { KeySet } from "./key-set.js";
import type { Routes } from "./routes.js";

/** A shard, and the keys that it owns in the version of the map that the query uses. */
export class Part {
  /** The conditions that `predicate` has returned. */
  readonly predicates: string[] = [];

  constructor(readonly shard: string, readonly keys: KeySet) {}

  /**
   * Returns an SQL condition for the rows whose key the shard owns. `columns` has the SQL names of the key's columns
   * (`["tenant_id"]`, `["o.tenant_id"]`). While keys move, two shards have their rows; with this condition each row is
   * read on one shard only. On a list map the condition contains every key of the shard.
   */
  predicate(columns: readonly string[]): string {
    const condition = this.keys.predicate(columns);
    this.predicates.push(condition);
    return condition;
  }
}

/** The answers of the shards. */
export class FanOut<T> {
  constructor(
    /** The version of the map that the query used. */
    readonly version: number,
    /**
     * The version in the cache when the last shard answered, if it is another one. Then keys have changed their owner
     * meanwhile, and the old owner may already have removed their rows.
     */
    readonly newer: number | undefined,
    /** The answer or the error of each shard that owns keys, ordered by name. */
    readonly shards: ReadonlyMap<string, PromiseSettledResult<T>>,
  ) {}

  /** Returns the answers of all shards, ordered by the names of the shards. Throws the first error. */
  all(): T[] {
    return [...this.shards.values()].map((answer) => {
      if (answer.status === "rejected") throw answer.reason;
      return answer.value;
    });
  }
}

/** The parts of a query under one version of the map. */
export function partsOf(routes: Routes): Part[] {
  return routes.shards.map((shard) => new Part(shard, routes.ownedBy(shard)));
}

/** Runs `work` for each item, on at most `limit` at the same time. */
export async function settleAll<I, T>(
  items: readonly I[],
  limit: number,
  work: (item: I) => Promise<T>,
): Promise<PromiseSettledResult<T>[]> {
  const results: PromiseSettledResult<T>[] = [];
  const waiting = items.entries();
  const run = async (): Promise<void> => {
    for (const [at, item] of waiting) [results[at]] = (await Promise.allSettled([work(item)])) as [PromiseSettledResult<T>];
  };
  await Promise.all(Array.from({ length: Math.max(limit, 1) }, run));
  return results;
}
