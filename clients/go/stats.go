package shardwright

import (
	"sync/atomic"
	"time"
)

// Stats are the counters of a map since it was connected, and the age of its information.
type Stats struct {
	// Lookups is the number of looked-up keys, including those of transactions.
	Lookups int64
	// LookupsRefused is the number of these keys that have no shard, are not keys of the map, or were looked up while
	// the map was too old.
	LookupsRefused int64
	// Retries is the number of attempts after the first one, for any reason.
	Retries int64
	// NotOwner is the number of writes refused with SM001: the shard does not own the key any more, or not for the
	// moment.
	NotOwner int64
	// NotOpen is the number of writes refused with SM002: the shard does not own the key yet.
	NotOpen int64
	// Refreshes is the number of newer map versions that replaced the cached one.
	Refreshes int64
	// Reconnects is how often the change feed was opened again.
	Reconnects int64
	// CommitsUnknown is the number of commits with an unknown outcome.
	CommitsUnknown int64
	// Version is the version of the map in use.
	Version int64
	// Silence is the time since a controller last answered. The map may be out of date by this time.
	Silence time.Duration
}

type counters struct {
	lookups, lookupsRefused, retries, notOwner, notOpen, refreshes, reconnects, commitsUnknown atomic.Int64
}

func (c *counters) stats(version int64, silence time.Duration) Stats {
	return Stats{
		Lookups: c.lookups.Load(), LookupsRefused: c.lookupsRefused.Load(), Retries: c.retries.Load(),
		NotOwner: c.notOwner.Load(), NotOpen: c.notOpen.Load(), Refreshes: c.refreshes.Load(),
		Reconnects: c.reconnects.Load(), CommitsUnknown: c.commitsUnknown.Load(), Version: version, Silence: silence,
	}
}
