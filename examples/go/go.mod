module app

go 1.19

require (
	github.com/jackc/pgx/v4 v4.15.0
	shardwright v0.1.0
)

replace shardwright => ../../clients/go
