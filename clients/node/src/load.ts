/**
 * Counts which keys are used most, and reports them to the controller at regular intervals.
 *
 * If the controller does not accept a report, its counts are lost. No transaction waits for a report. The memory is
 * limited (a Misra-Gries summary): of `n` uses in a window at most `n / MAX_KEYS` are not counted for any key, so the
 * report contains every key with more uses than that. If the key of the map changes, the counts of the former key are
 * lost.
 */

import { isDeepStrictEqual } from "node:util";
import { type Column, keyAt, type Key, type KeyType, type Place, placeOf, text } from "./keys.js";
import type { Routes } from "./routes.js";

/** The maximum number of keys in a report. */
export const MAX_KEYS = 512;

/** The counts of at most twice `MAX_KEYS` keys, in the current window. */
export class LoadSummary {
  #counts = new Map<Place, number>();
  #routes: Routes;

  constructor(routes: Routes) {
    this.#routes = routes;
  }

  /** Counts one use of a key of a version of the map. */
  count(routes: Routes, key: Key): void {
    if (routes !== this.#routes) this.#follow(routes);
    const place = placeOf(routes.keyTypes, key);
    if (!this.#counts.has(place) && this.#counts.size >= 2 * MAX_KEYS) this.#reduce();
    this.#counts.set(place, (this.#counts.get(place) ?? 0) + 1);
  }

  /** Ends the window. Returns the keys as JSON with the numbers of their uses, the most used first. */
  take(): string[] {
    const counts = [...this.#counts].sort(([, one], [, other]) => other - one).slice(0, MAX_KEYS);
    this.#counts.clear();
    const { keyTypes } = this.#routes;
    return counts.map(([place, uses]) => `[${jsonOf(keyTypes, keyAt(keyTypes, place))},${uses}]`);
  }

  /** Takes another version over. Its keys are others if their types or columns differ. */
  #follow(routes: Routes): void {
    const keyOf = ({ keyTypes, settings }: Routes): unknown => [keyTypes, settings.tables];
    if (!isDeepStrictEqual(keyOf(routes), keyOf(this.#routes))) this.#counts.clear();
    this.#routes = routes;
  }

  /** Subtracts the count that has exactly `MAX_KEYS` others before it from every count. */
  #reduce(): void {
    const subtracted = [...this.#counts.values()].sort((one, other) => other - one)[MAX_KEYS]!;
    const rest = [...this.#counts].filter(([, uses]) => uses > subtracted);
    this.#counts = new Map(rest.map(([place, uses]) => [place, uses - subtracted]));
  }
}

/** The JSON of a key; integers keep all their digits. */
function jsonOf(types: readonly KeyType[], key: Key): string {
  const columns = key.map((column, at) => jsonOfColumn(types[at]!, column));
  return columns.length > 1 ? `[${columns.join(",")}]` : columns[0]!;
}

function jsonOfColumn(type: KeyType, column: Column): string {
  if (type === "smallint" || type === "integer" || type === "bigint") return String(column);
  return JSON.stringify(type === "text" ? text(type, column) : { [type]: text(type, column) });
}
