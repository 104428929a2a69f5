package shardwright

import (
	"context"
	"time"
)

// Map is a cached shard map, and a goroutine that follows its changes. Goroutines can share it.
//
// T is what the function of a transaction executes statements with; with the package pgx4 it is pgx.Tx.
type Map[T any] struct {
	core  *core
	pools *pools[T]
	// shadow and record are those of shadow mode, otherwise nil.
	shadow *Shadow
	record func(tx T, transaction *ShadowTransaction) T
}

// Connect reads the map of this name, and starts to follow its changes. Applications call the Connect of a package for
// their driver, such as pgx4.
//
// controllers is a URL, or several that are separated by commas: if a controller fails, the next one is used.
// Afterwards lookups use the cache, even if no controller can be reached. The error is of the kind ErrFetch. The
// context limits the connect only.
func Connect[T any](
	ctx context.Context, controllers, name string, driver Driver[T], options Options,
) (*Map[T], error) {
	options, counters := options.withDefaults(), &counters{}
	feed, err := openFeed(ctx, controllers, name, options, counters)
	if err != nil {
		return nil, err
	}
	core := &core{feed, feed.cache, counters, options}
	made := &Map[T]{core: core, pools: newPools(driver, options.Connections)}
	feed.cache.onNewer = made.pools.release
	feed.start()
	return made, nil
}

// Close ends the goroutine, and closes the idle connections. Those in use are closed when their transactions end.
func (m *Map[T]) Close() {
	m.core.feed.close()
	m.pools.close()
}

// Routes is the cached version of the map, for many lookups that belong together. These lookups are not counted.
func (m *Map[T]) Routes() *Routes { return m.core.cache.routes.Load() }

// ShardFor returns the shard that owns the key, according to the cached map.
//
// A key is an integer, a string, a []byte, a UUID as an array of 16 bytes, or a time.Time; a composite key is an []any
// of these. Types that are defined as one of them are keys too. The error is of the kind ErrUnmapped, ErrNotAKey or
// ErrStale.
func (m *Map[T]) ShardFor(key any) (string, error) {
	return m.core.shardFor(key)
}

// Stats returns the counters of the library.
func (m *Map[T]) Stats() Stats {
	return m.core.counters.stats(m.Routes().version, m.core.cache.silence())
}

// WaitForNewer waits until the cache has a version above known, but for at most the limit. Then it reads the map
// itself. The error is that of the context.
func (m *Map[T]) WaitForNewer(ctx context.Context, known int64, limit time.Duration) error {
	return m.core.waitForNewer(ctx, known, limit)
}

// WithShard runs work(tx) in a transaction on the shard that owns the key, and commits the transaction.
//
// work runs again from its start, on the shard of the newest map, if the shard refuses the key, after a serialization
// failure or a deadlock, and if the connection is lost before the commit was sent. Therefore effects of work outside
// the database must permit a repetition; variables that it changes must be set anew each time.
//
// An error of work is returned unchanged after the rollback. An error of the kind ErrCommitUnknown means that the
// connection was lost during the commit, or that the context ended then. Every other error means that nothing was
// committed.
func (m *Map[T]) WithShard(ctx context.Context, key any, work func(tx T) error) error {
	return m.WithShardOptions(ctx, key, TxOptions{}, work)
}

// WithShardOptions is WithShard with options of the transaction.
func (m *Map[T]) WithShardOptions(ctx context.Context, key any, options TxOptions, work func(tx T) error) error {
	if _, err := m.core.shardFor(key); err != nil {
		return err
	}
	var used *Routes
	return m.core.repeat(ctx, call{
		// Each version can have other key types.
		next: func() (string, int64, error) {
			routes, err := m.core.cache.fresh()
			if err != nil {
				return "", 0, err
			}
			used = routes
			shard, err := routes.ShardFor(key)
			return shard, routes.version, err
		},
		run: func(attempt *attempt) error {
			return m.transact(ctx, attempt, options, m.onShard(used, attempt.shard, work))
		},
		giveUpKind: ErrGaveUp,
		subject:    func() string { return "key " + used.display(key) },
	})
}

func (m *Map[T]) transact(ctx context.Context, attempt *attempt, options TxOptions, work func(tx T) error) error {
	place := attempt.shard
	if m.shadow != nil {
		place = oneDatabase
	}
	pool, err := m.pools.of(place)
	if err != nil {
		return err
	}
	return transact(ctx, pool, m.core.options.ConnectTimeout, attempt, options, work)
}
