// Package pgx4 connects the shard map to PostgreSQL with the driver pgx, version 4.
package pgx4

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v4"

	"shardwright"
)

// Map is a shard map whose transactions are those of pgx.
type Map = shardwright.Map[pgx.Tx]

// Access returns for the name of a shard the connection string of the application's own role; false if there is none.
// It is called for each new connection, so that a password can be renewed while the application runs.
type Access func(shard string) (dsn string, isKnown bool)

// DSNs is the access by connection strings that do not change.
func DSNs(dsns map[string]string) Access {
	return func(shard string) (string, bool) {
		dsn, isKnown := dsns[shard]
		return dsn, isKnown
	}
}

// Connect reads the map of this name, and starts to follow its changes. See shardwright.Connect.
func Connect(
	ctx context.Context, controllers, name string, access Access, options shardwright.Options,
) (*Map, error) {
	return shardwright.Connect[pgx.Tx](ctx, controllers, name, driver{access}, options)
}

type driver struct{ access Access }

func (d driver) Open(ctx context.Context, shard string, timeout time.Duration) (shardwright.Session[pgx.Tx], error) {
	dsn, isKnown := d.access(shard)
	if !isKnown {
		return nil, shardwright.NewError(shardwright.ErrNoAccess, "no connection string for shard "+shard, nil)
	}
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = timeout
	}
	ctx, cancel := context.WithTimeout(ctx, config.ConnectTimeout)
	defer cancel()
	connection, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	return session{connection}, nil
}

type session struct{ connection *pgx.Conn }

// Begin begins a transaction of pgx, whose methods for savepoints and large objects work.
func (s session) Begin(ctx context.Context, options shardwright.TxOptions) (pgx.Tx, error) {
	// pgx writes the isolation level into its BEGIN unchanged, so the whole takes one round trip.
	level := strings.TrimPrefix(options.SQL(), "begin isolation level ")
	begun, err := s.connection.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.TxIsoLevel(level)})
	if err != nil {
		return nil, err
	}
	return transaction{begun}, nil
}

// transaction is a transaction that only the library ends.
type transaction struct{ pgx.Tx }

// Commit is not possible: the library commits.
func (transaction) Commit(context.Context) error {
	const message = "commit is not possible in the function of a transaction"
	return shardwright.NewError(shardwright.ErrTransactionEnded, message, nil)
}

// Rollback is not possible: the library rolls back if the function returns an error.
func (transaction) Rollback(context.Context) error {
	const message = "rollback is not possible in the function of a transaction"
	return shardwright.NewError(shardwright.ErrTransactionEnded, message, nil)
}

func (s session) Commit(ctx context.Context) error {
	tag, err := s.connection.Exec(ctx, "commit")
	if err == nil && tag.String() != "COMMIT" {
		message := fmt.Sprintf("the server answered the commit with %s; nothing was committed", tag)
		return shardwright.NewError(shardwright.ErrFailedStatementIgnored, message, nil)
	}
	return err
}

func (s session) Rollback(ctx context.Context) error {
	_, err := s.connection.Exec(ctx, "rollback")
	return err
}

func (s session) Status() shardwright.Status {
	if s.connection.IsClosed() {
		return shardwright.Closed
	}
	if s.connection.PgConn().IsBusy() {
		return shardwright.Busy
	}
	switch s.connection.PgConn().TxStatus() {
	case 'I':
		return shardwright.Idle
	case 'E':
		return shardwright.Failed
	default:
		return shardwright.InTransaction
	}
}

func (s session) WasNotSent(err error) bool {
	var known interface{ SafeToRetry() bool }
	return errors.As(err, &known) && known.SafeToRetry()
}

func (s session) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = s.connection.Close(ctx)
}
