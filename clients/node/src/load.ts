/**
 * Counts which keys are used most, and reports them to the controller at regular intervals.
 *
 * If the controller does not accept a report, its counts are lost. No transaction waits for a report. The memory is
 * limited (a Misra-Gries summary): of `n` uses in a window at most `n / MAX_KEYS` are not counted for any key, so the
 * report contains every key with more uses than that.
 */

import { type Column, keyAt, type Key, type KeyType, type Place, placeOf, text } from "./keys.js";

/** The maximum number of keys in a report. */
export const MAX_KEYS = 512;

/** The counts of at most twice `MAX_KEYS` keys, in the current window. */
export class LoadSummary {
  #counts = new Map<Place, number>();

  constructor(readonly types: readonly KeyType[]) {}

  /** Counts one use of a key. */
  count(key: Key): void {
    const place = placeOf(this.types, key);
    if (!this.#counts.has(place) && this.#counts.size >= 2 * MAX_KEYS) this.#reduce();
    this.#counts.set(place, (this.#counts.get(place) ?? 0) + 1);
  }

  /** Ends the window. Returns the keys as JSON with the numbers of their uses, the most used first. */
  take(): string[] {
    const counts = [...this.#counts].sort(([, one], [, other]) => other - one).slice(0, MAX_KEYS);
    this.#counts.clear();
    return counts.map(([place, uses]) => `[${jsonOf(this.types, keyAt(this.types, place))},${uses}]`);
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
