package shardwright

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// cache is the newest known version of the map. A version is only replaced by a higher one.
type cache struct {
	routes     atomic.Pointer[Routes]
	lastAnswer atomic.Pointer[time.Time]
	counters   *counters
	options    Options
	// onNewer is called with each version that replaces the cached one.
	onNewer func(*Routes)

	mutex sync.Mutex
	// newer is closed when a version replaces the cached one.
	newer chan struct{}
}

func newCache(first *Routes, counters *counters, options Options) *cache {
	made := &cache{counters: counters, options: options, onNewer: func(*Routes) {}, newer: make(chan struct{})}
	made.routes.Store(first)
	made.recordAnswer()
	return made
}

// silence is the time since a controller last answered.
func (c *cache) silence() time.Duration { return time.Since(*c.lastAnswer.Load()) }

func (c *cache) recordAnswer() {
	now := time.Now()
	c.lastAnswer.Store(&now)
}

// offer replaces the cached map if the other one is newer.
func (c *cache) offer(routes *Routes) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	cached := c.routes.Load()
	if routes.incarnation != cached.incarnation {
		// A lower version with another incarnation comes from a control store that was restored.
		c.options.logf("map %s version %d comes from another control store", routes.name, routes.version)
	}
	if routes.version <= cached.version {
		return
	}
	c.routes.Store(routes)
	c.counters.refreshes.Add(1)
	c.onNewer(routes)
	close(c.newer)
	c.newer = make(chan struct{})
}

// waitForNewer waits until the cache has a version above known, but for at most pause. It reports whether it has.
func (c *cache) waitForNewer(ctx context.Context, known int64, pause time.Duration) (bool, error) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for {
		c.mutex.Lock()
		newer := c.newer
		c.mutex.Unlock()
		if c.routes.Load().version > known {
			return true, nil
		}
		select {
		case <-newer:
		case <-timer.C:
			return false, nil
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}

// fresh returns the cached map, unless it is older than the application accepts.
func (c *cache) fresh() (*Routes, error) {
	routes, limit := c.routes.Load(), c.options.MaxStaleness
	if limit <= 0 {
		return routes, nil
	}
	if silence := c.silence(); silence > limit {
		return nil, errorf(ErrStale, "map %s version %d may be out of date: no controller has answered for %.1f s",
			routes.name, routes.version, silence.Seconds())
	}
	return routes, nil
}
