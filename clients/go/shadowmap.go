package shardwright

import "context"

// oneDatabase is the name of the only pool in shadow mode.
const oneDatabase = "the one database"

// ConnectShadow is Connect for an application that still has one database, to which the driver opens connections for
// each shard. record returns a transaction that records its statements. Applications call the ConnectShadow of a
// package for their driver, such as pgx4.
func ConnectShadow[T any](
	ctx context.Context, controllers, name string, driver Driver[T], options Options, shadow ShadowOptions,
	record func(tx T, transaction *ShadowTransaction) T,
) (*Map[T], error) {
	made, err := Connect(ctx, controllers, name, driver, options)
	if err != nil {
		return nil, err
	}
	made.shadow, made.record = newShadow(made.core.cache, shadow), record
	return made, nil
}

// Shadow is what shadow mode has found; nil without shadow mode.
func (m *Map[T]) Shadow() *Shadow { return m.shadow }

// onShard records the statements of a transaction of WithShard.
func (m *Map[T]) onShard(routes *Routes, shard string, work func(T) error) func(T) error {
	if m.shadow == nil {
		return work
	}
	transaction := m.shadow.onShard(routes, shard)
	return func(tx T) error { return work(m.record(tx, transaction)) }
}

// inQuery records the statements of a query to all shards.
func (m *Map[T]) inQuery(part Part, work func(T) error) func(T) error {
	if m.shadow == nil {
		return work
	}
	transaction := m.shadow.inQuery(&part)
	return func(tx T) error { return work(m.record(tx, transaction)) }
}
