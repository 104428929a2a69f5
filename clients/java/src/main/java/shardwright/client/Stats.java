package shardwright.client;

import java.time.Duration;

/**
 * The counters of one map since it was connected, and the age of its information.
 *
 * @param lookups the number of looked-up keys, including those of transactions
 * @param lookupsRefused the number of these keys that have no shard, are not keys of the map, or were looked up while
 *     the map was too old
 * @param retries the number of attempts after the first one, for any reason
 * @param notOwner the number of writes refused with SM001: the shard does not own the key any more, or not for the
 *     moment
 * @param notOpen the number of writes refused with SM002: the shard does not own the key yet
 * @param refreshes the number of newer map versions that replaced the cached one
 * @param reconnects how often the change feed was opened again
 * @param commitsUnknown the number of commits with an unknown outcome
 * @param version the version of the map in use
 * @param silence the time since a controller last answered; the map may be out of date by this time
 */
public record Stats(
        long lookups,
        long lookupsRefused,
        long retries,
        long notOwner,
        long notOpen,
        long refreshes,
        long reconnects,
        long commitsUnknown,
        long version,
        Duration silence) {}
