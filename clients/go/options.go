package shardwright

import (
	"fmt"
	"os"
	"time"
)

// Options are the options of the library. A field that is zero has its default.
type Options struct {
	// Connections is the maximum number of connections for each shard; by default 16.
	Connections int
	// RetryFor is the total time that one call of WithShard may spend on attempts and pauses; by default a minute. With
	// a negative time nothing is repeated.
	RetryFor time.Duration
	// FirstPause is the first pause between two attempts; by default 5 ms. Each later pause is about twice as long.
	FirstPause time.Duration
	// LongestPause is the longest pause between two attempts; by default 250 ms.
	LongestPause time.Duration
	// ConnectTimeout is the limit of one attempt to connect to a shard, unless the connection string has a
	// connect_timeout; by default 10 s.
	ConnectTimeout time.Duration
	// ReportLoad is how often the library reports the most used keys to the controller, for rebalances by load; by
	// default never.
	ReportLoad time.Duration
	// MaxStaleness is the time after which lookups fail with ErrStale if no controller has answered. By default lookups
	// use the cached map for an unlimited time. For writes that is safe because of the shard's guard.
	MaxStaleness time.Duration
	// TokenFile is the file with the token for the controllers; by default that of SHARDWRIGHT_TOKEN_FILE. It is read
	// for each request, so that the token can be renewed.
	TokenFile string
	// CAFile is the PEM file with the trusted certificate authorities; by default that of SHARDWRIGHT_CA_FILE, or those
	// of the system.
	CAFile string
	// Log gets a line for each failure that the library survives; by default they are dropped.
	Log func(line string)
}

func (o Options) withDefaults() Options {
	setDefault(&o.Connections, 16)
	setDefault(&o.RetryFor, time.Minute)
	setDefault(&o.FirstPause, 5*time.Millisecond)
	setDefault(&o.LongestPause, 250*time.Millisecond)
	setDefault(&o.ConnectTimeout, 10*time.Second)
	setDefault(&o.TokenFile, os.Getenv("SHARDWRIGHT_TOKEN_FILE"))
	setDefault(&o.CAFile, os.Getenv("SHARDWRIGHT_CA_FILE"))
	if o.Log == nil {
		o.Log = func(string) {}
	}
	return o
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func (o Options) logf(format string, arguments ...any) {
	o.Log(fmt.Sprintf(format, arguments...))
}

// Isolation is an isolation level of PostgreSQL.
type Isolation string

// The isolation levels of a transaction.
const (
	ReadCommitted  Isolation = "read committed"
	RepeatableRead Isolation = "repeatable read"
	Serializable   Isolation = "serializable"
)

// TxOptions are the options of one transaction. The zero value is read committed, with a synchronous commit.
type TxOptions struct {
	Isolation Isolation
	// AsynchronousCommit acknowledges the commit before it is on disk, so a crash of the server may lose the
	// transaction.
	AsynchronousCommit bool

	readOnly bool
}

// snapshot is how queries to all shards begin.
var snapshot = TxOptions{Isolation: RepeatableRead, readOnly: true}

// SQL has the statements that begin such a transaction, in one round trip.
func (o TxOptions) SQL() string {
	begin := "begin isolation level " + string(ReadCommitted)
	if o.Isolation != "" {
		begin = "begin isolation level " + string(o.Isolation)
	}
	switch {
	case o.readOnly:
		return begin + " read only"
	case o.AsynchronousCommit:
		return begin + "; set local synchronous_commit = off"
	default:
		return begin + "; set local synchronous_commit = on"
	}
}
