package pgx4

import (
	"context"

	"github.com/jackc/pgconn"
	"github.com/jackc/pgx/v4"

	"shardwright"
)

// ConnectShadow is Connect for an application that still has one database: the map decides which shard each transaction
// would use, and everything is sent to the database of the connection string.
func ConnectShadow(
	ctx context.Context, controllers, name, dsn string, options shardwright.Options, shadow shardwright.ShadowOptions,
) (*Map, error) {
	access := func(string) (string, bool) { return dsn, true }
	return shardwright.ConnectShadow[pgx.Tx](ctx, controllers, name, driver{access}, options, shadow, record)
}

// Record returns a transaction of code that does not use WithShard yet, whose statements are compared with the map.
// A batch is not compared: pgx does not show its statements.
func Record(tx pgx.Tx, shadow *shardwright.Shadow) pgx.Tx {
	return record(tx, shadow.Transaction())
}

func record(tx pgx.Tx, transaction *shardwright.ShadowTransaction) pgx.Tx {
	return recorder{tx, transaction}
}

type recorder struct {
	pgx.Tx
	transaction *shardwright.ShadowTransaction
}

func (r recorder) Begin(ctx context.Context) (pgx.Tx, error) {
	begun, err := r.Tx.Begin(ctx)
	if err != nil {
		return nil, err
	}
	return recorder{begun, r.transaction}, nil
}

func (r recorder) BeginFunc(ctx context.Context, work func(pgx.Tx) error) error {
	return r.Tx.BeginFunc(ctx, func(tx pgx.Tx) error { return work(recorder{tx, r.transaction}) })
}

func (r recorder) Exec(ctx context.Context, sql string, arguments ...any) (pgconn.CommandTag, error) {
	r.transaction.Record(sql, parametersOf(arguments))
	return r.Tx.Exec(ctx, sql, arguments...)
}

func (r recorder) Query(ctx context.Context, sql string, arguments ...any) (pgx.Rows, error) {
	r.transaction.Record(sql, parametersOf(arguments))
	return r.Tx.Query(ctx, sql, arguments...)
}

func (r recorder) QueryRow(ctx context.Context, sql string, arguments ...any) pgx.Row {
	r.transaction.Record(sql, parametersOf(arguments))
	return r.Tx.QueryRow(ctx, sql, arguments...)
}

func (r recorder) QueryFunc(
	ctx context.Context, sql string, arguments, scans []any, work func(pgx.QueryFuncRow) error,
) (pgconn.CommandTag, error) {
	r.transaction.Record(sql, parametersOf(arguments))
	return r.Tx.QueryFunc(ctx, sql, arguments, scans, work)
}

func (r recorder) CopyFrom(
	ctx context.Context, table pgx.Identifier, columns []string, rows pgx.CopyFromSource,
) (int64, error) {
	r.transaction.Record("copy "+table.Sanitize()+" from stdin", nil)
	return r.Tx.CopyFrom(ctx, table, columns, rows)
}

// parametersOf leaves out the options of pgx at the beginning.
func parametersOf(arguments []any) []any {
	for at, argument := range arguments {
		switch argument.(type) {
		case pgx.QuerySimpleProtocol, pgx.QueryResultFormats, pgx.QueryResultFormatsByOID:
		default:
			return arguments[at:]
		}
	}
	return nil
}
