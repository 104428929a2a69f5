package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v4"

	"shardwright"
	"shardwright/internal/key"
	"shardwright/pgx4"
)

// request has the arguments of all requests; each uses those of its operation.
type request struct {
	ID          json.Number       `json:"id"`
	Op          string            `json:"op"`
	Types       []key.Type        `json:"types"`
	Values      []any             `json:"values"`
	Of          []int64           `json:"of"`
	Sets        []key.JSONSet     `json:"sets"`
	Keys        []any             `json:"keys"`
	Columns     []string          `json:"columns"`
	Text        string            `json:"text"`
	Path        string            `json:"path"`
	Controllers string            `json:"controllers"`
	Map         string            `json:"map"`
	Options     map[string]any    `json:"options"`
	Shards      map[string]string `json:"shards"`
	Shadow      string            `json:"shadow"`
	Key         any               `json:"key"`
	Version     int64             `json:"version"`
	Work        []statement       `json:"work"`
	SQL         string            `json:"sql"`
	Limit       int               `json:"limit"`
	IgnoreError bool              `json:"ignore_error"`
	Statements  []statement       `json:"statements"`
}

type statement struct {
	SQL         string `json:"sql"`
	Params      []any  `json:"params"`
	Fail        string `json:"fail"`
	IgnoreError bool   `json:"ignore_error"`
}

// driver has the map of the scenario that runs.
type driver struct {
	connected atomic.Pointer[pgx4.Map]
	// shadow is the database of shadow mode.
	shadow atomic.Pointer[string]
}

func (d *driver) operate(request *request) (any, error) {
	switch request.Op {
	case "keys":
		return keysOf(request), nil
	case "sort":
		return sorted(request)
	case "sets":
		return setsOf(request)
	case "routes":
		return routesOf(request)
	case "measure":
		return measure(request)
	case "connect":
		return nil, d.connect(request)
	case "close":
		if connected := d.connected.Load(); connected != nil {
			connected.Close()
		}
		return nil, nil
	}
	if d.connected.Load() == nil {
		return nil, errors.New("no map is connected")
	}
	switch request.Op {
	case "execute":
		return nil, execute(d.connected.Load(), *d.shadow.Load(), request.Statements)
	case "findings":
		return findingsOf(d.connected.Load()), nil
	}
	return operateOn(d.connected.Load(), request)
}

func operateOn(connected *pgx4.Map, request *request) (any, error) {
	ctx := context.Background()
	switch request.Op {
	case "lookup":
		return connected.ShardFor(request.Key)
	case "stats":
		return statsOf(connected.Stats()), nil
	case "wait_version":
		for connected.Routes().Version() < request.Version {
			if err := connected.WaitForNewer(ctx, request.Version-1, time.Minute); err != nil {
				return nil, err
			}
		}
		return nil, nil
	case "with_shard":
		return withShard(ctx, connected, request)
	case "on_all":
		return onAll(ctx, connected, request)
	}
	return nil, fmt.Errorf("the operation %s is unknown", request.Op)
}

func (d *driver) connect(request *request) error {
	ctx, options := context.Background(), optionsOf(request.Options)
	d.shadow.Store(&request.Shadow)
	var connected *pgx4.Map
	var err error
	if request.Shadow == "" {
		access := pgx4.DSNs(request.Shards)
		connected, err = pgx4.Connect(ctx, request.Controllers, request.Map, access, options)
	} else {
		connected, err = pgx4.ConnectShadow(
			ctx, request.Controllers, request.Map, request.Shadow, options, shardwright.ShadowOptions{Parser: parser})
	}
	if err == nil {
		d.connected.Store(connected)
	}
	return err
}

func optionsOf(wanted map[string]any) shardwright.Options {
	text := func(name string) string { found, _ := wanted[name].(string); return found }
	length := func(name string) time.Duration {
		number, _ := wanted[name].(json.Number)
		seconds, _ := number.Float64()
		return time.Duration(seconds * float64(time.Second))
	}
	return shardwright.Options{
		RetryFor: length("retry_for"), FirstPause: length("first_pause"), LongestPause: length("longest_pause"),
		ConnectTimeout: length("connect_timeout"), ReportLoad: length("report_load"),
		MaxStaleness: length("max_staleness"), TokenFile: text("token_file"), CAFile: text("ca_file"),
	}
}

func statsOf(stats shardwright.Stats) map[string]any {
	return map[string]any{
		"lookups": stats.Lookups, "lookups_refused": stats.LookupsRefused, "retries": stats.Retries,
		"not_owner": stats.NotOwner, "not_open": stats.NotOpen, "refreshes": stats.Refreshes,
		"reconnects": stats.Reconnects, "commits_unknown": stats.CommitsUnknown, "version": stats.Version,
		"silence": stats.Silence.Seconds(),
	}
}

func withShard(ctx context.Context, connected *pgx4.Map, request *request) (any, error) {
	isolation, _ := request.Options["isolation"].(string)
	options := shardwright.TxOptions{Isolation: shardwright.Isolation(isolation)}
	options.AsynchronousCommit = request.Options["synchronous_commit"] == false
	var rows [][]any
	err := connected.WithShardOptions(ctx, request.Key, options, func(tx pgx.Tx) (err error) {
		rows, err = runAll(ctx, tx, request.Work)
		return err
	})
	return rows, err
}

func onAll(ctx context.Context, connected *pgx4.Map, request *request) (any, error) {
	result, err := shardwright.OnAll(ctx, connected, request.Limit,
		func(part shardwright.Part, tx pgx.Tx) ([][]any, error) {
			predicate, err := part.Predicate(request.Columns...)
			if err != nil {
				return nil, err
			}
			sql := strings.ReplaceAll(request.SQL, "{predicate}", predicate)
			return runAll(ctx, tx, []statement{{SQL: sql, IgnoreError: request.IgnoreError}})
		})
	if err != nil {
		return nil, err
	}
	shards := map[string]any{}
	for _, answer := range result.Answers {
		shards[answer.Shard] = map[string]any{"ok": answer.Value}
		if answer.Err != nil {
			shards[answer.Shard] = map[string]any{"error": kindOf(answer.Err)}
		}
	}
	found := map[string]any{"version": result.Version, "newer": nil, "shards": shards}
	if result.Newer != 0 {
		found["newer"] = result.Newer
	}
	return found, nil
}

// runAll executes statements, and returns the rows of the last one.
func runAll(ctx context.Context, tx pgx.Tx, statements []statement) ([][]any, error) {
	rows := [][]any{}
	for _, one := range statements {
		if one.Fail != "" {
			return nil, &applicationError{one.Fail}
		}
		found, err := run(ctx, tx, one)
		switch {
		case err == nil:
			rows = found
		case !one.IgnoreError:
			return nil, err
		}
	}
	return rows, nil
}

func run(ctx context.Context, tx pgx.Tx, statement statement) ([][]any, error) {
	// Without parameters, a text may have several statements.
	arguments := []any{pgx.QuerySimpleProtocol(true)}
	if len(statement.Params) > 0 {
		arguments = nil
	}
	for _, param := range statement.Params {
		if number, isNumber := param.(json.Number); isNumber {
			param, _ = number.Int64()
		}
		arguments = append(arguments, param)
	}
	rows, err := tx.Query(ctx, statement.SQL, arguments...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	found := [][]any{}
	for rows.Next() {
		values, err := rows.Values()
		if err != nil {
			return nil, err
		}
		found = append(found, values)
	}
	return found, rows.Err()
}
