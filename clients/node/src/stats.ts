/** The counters of one map, and the age of its information. */
export interface Stats {
  /** The number of looked-up keys, including those of transactions. */
  readonly lookups: number;
  /** Those of them that have no shard, are not keys of the map, or were looked up while the map was too old. */
  readonly lookupsRefused: number;
  /** The number of attempts after the first one, for any reason. */
  readonly retries: number;
  /** The number of writes refused with SM001: the shard does not own the key any more, or not for the moment. */
  readonly notOwner: number;
  /** The number of writes refused with SM002: the shard does not own the key yet. */
  readonly notOpen: number;
  /** The number of newer map versions that replaced the cached one. */
  readonly refreshes: number;
  /** How often the change feed was opened again. */
  readonly reconnects: number;
  /** The number of commits with an unknown outcome. */
  readonly commitsUnknown: number;
  /** The version of the map in use. */
  readonly version: number;
  /** The milliseconds since a controller last answered. The map may be out of date by this time. */
  readonly silence: number;
}

export type Counters = { -readonly [name in Exclude<keyof Stats, "version" | "silence">]: number };

export function newCounters(): Counters {
  return {
    lookups: 0,
    lookupsRefused: 0,
    retries: 0,
    notOwner: 0,
    notOpen: 0,
    refreshes: 0,
    reconnects: 0,
    commitsUnknown: 0,
  };
}
