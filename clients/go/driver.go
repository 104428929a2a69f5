package shardwright

import (
	"context"
	"time"
)

// Driver opens connections to the shards of a Map. Applications use a package that connects a driver, such as pgx4; T
// is what it gives to the function of a transaction.
type Driver[T any] interface {
	// Open opens a connection to a shard, within the timeout unless the connection string has another one. An error of
	// the kind ErrNoAccess says that the application has no connection string for the shard.
	Open(ctx context.Context, shard string, timeout time.Duration) (Session[T], error)
}

// Session is a connection to a shard.
type Session[T any] interface {
	// Begin sends options.SQL() in one round trip, and returns what the application executes statements with. It must
	// not let the application commit or roll back.
	Begin(ctx context.Context, options TxOptions) (T, error)
	// Commit commits. If the server rolled back instead, the error is of the kind ErrFailedStatementIgnored.
	Commit(ctx context.Context) error
	// Rollback rolls back.
	Rollback(ctx context.Context) error
	// Status is the state of the session, as the server reported it last. It sends nothing.
	Status() Status
	// WasNotSent reports whether an error of this driver means that the server received nothing, for example because
	// the connection was already closed.
	WasNotSent(err error) bool
	// Close closes the connection.
	Close()
}

// Status is the state of a session.
type Status int

// The states of a session.
const (
	// Closed means that the connection is lost or closed.
	Closed Status = iota
	// Idle means that the session has no transaction.
	Idle
	// InTransaction means that the session has a transaction in which no statement has failed.
	InTransaction
	// Failed means that a statement of the transaction has failed.
	Failed
	// Busy means that the rows of a query were not read to their end.
	Busy
)
