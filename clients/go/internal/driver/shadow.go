package main

import (
	"context"

	"github.com/jackc/pgx/v4"

	"shardwright"
	"shardwright/internal/pgquery"
	"shardwright/pgx4"
)

var parser = shardwright.Parser{
	ParseToJSON: pgquery.ParseToJSON, Normalize: pgquery.Normalize, Fingerprint: pgquery.Fingerprint,
}

// execute executes statements of one transaction that does not use the map.
func execute(connected *pgx4.Map, dsn string, statements []statement) error {
	ctx := context.Background()
	connection, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer connection.Close(ctx)
	tx, err := connection.Begin(ctx)
	if err != nil {
		return err
	}
	_, err = runAll(ctx, pgx4.Record(tx, connected.Shadow()), statements)
	if rollback := tx.Rollback(ctx); err == nil {
		err = rollback
	}
	return err
}

func findingsOf(connected *pgx4.Map) any {
	found := []any{}
	for _, one := range connected.Shadow().Findings() {
		finding := map[string]any{
			"kind": one.Kind, "table": one.Table, "shards": one.Shards, "count": one.Count, "place": one.Place,
		}
		if one.Table == "" {
			finding["table"] = nil
		}
		if one.Shards == nil {
			finding["shards"] = []string{}
		}
		found = append(found, finding)
	}
	return found
}
