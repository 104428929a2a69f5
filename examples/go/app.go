// An application that shards by tenant: a few goroutines that write orders and read them, until the end of stdin.
//
//	app --controller http://127.0.0.1:7432 --map tenants --shard a=postgres://… --shard b=postgres://…
//
// Each acknowledged order is a line on stdout, "tenant id", so that another program can search for every one. The
// shards need a table orders (tenant_id bigint, id bigint, note text).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v4"

	"shardwright"
	"shardwright/pgx4"
)

const (
	tenants = 1000
	// What a client does between two orders.
	otherWork = 50 * time.Millisecond
)

func placeOrder(ctx context.Context, orders *pgx4.Map, tenant, number int64) error {
	isPlaced := false
	exists := func(tx pgx.Tx) error {
		const query = "select exists (select from orders where tenant_id = $1 and id = $2 and note = 'go')"
		return tx.QueryRow(ctx, query, tenant, number).Scan(&isPlaced)
	}
	insert := func(tx pgx.Tx) error {
		const statement = "insert into orders (tenant_id, id, note) values ($1, $2, 'go')"
		if _, err := tx.Exec(ctx, statement, tenant, number); err != nil {
			return err
		}
		// An application reads what it has written.
		if err := exists(tx); err != nil || isPlaced {
			return err
		}
		return fmt.Errorf("order %d is not what was written", number)
	}
	for {
		err := orders.WithShard(ctx, tenant, insert)
		if errors.Is(err, shardwright.ErrCommitUnknown) {
			// The order is placed again only if it was not committed.
			if err = orders.WithShard(ctx, tenant, exists); err == nil && !isPlaced {
				continue
			}
		}
		if err == nil {
			fmt.Printf("%d %d\n", tenant, number)
		}
		return err
	}
}

func main() {
	shards := map[string]string{}
	controller := flag.String("controller", "", "URLs, separated by commas")
	name := flag.String("map", "", "the name of the map")
	tokenFile := flag.String("token-file", "", "the file with the token")
	clients := flag.Int("clients", 4, "the number of goroutines")
	flag.Func("shard", "NAME=DSN, for each shard", func(value string) error {
		shard, dsn, _ := strings.Cut(value, "=")
		shards[shard] = dsn
		return nil
	})
	flag.Parse()

	ctx := context.Background()
	options := shardwright.Options{TokenFile: *tokenFile}
	orders, err := pgx4.Connect(ctx, *controller, *name, pgx4.DSNs(shards), options)
	if err != nil {
		log.Fatal(err)
	}
	defer orders.Close()

	var stopped atomic.Bool
	var running sync.WaitGroup
	var last atomic.Int64
	last.Store(3_000_000)
	for client := 0; client < *clients; client++ {
		running.Add(1)
		go func() {
			defer running.Done()
			for !stopped.Load() {
				if err := placeOrder(ctx, orders, 1+rand.Int63n(tenants), last.Add(1)); err != nil {
					log.Fatal(err)
				}
				time.Sleep(otherWork)
			}
		}()
	}
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		log.Fatal(err)
	}
	stopped.Store(true)
	running.Wait()
	stats := orders.Stats()
	fmt.Fprintf(os.Stderr, "map version %d, %d refusal(s)\n", stats.Version, stats.NotOwner+stats.NotOpen)
}
