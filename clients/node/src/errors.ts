/**
 * The errors that an application can receive, and what each means for its transaction.
 *
 * An error of the application's own function, or of a statement in it, is thrown unchanged after the rollback. The
 * errors of this module come from the library. `hint` is what the user can do.
 */

export class ShardwrightError extends Error {
  readonly hint: string | undefined = undefined;
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** A key has no shard. No statement was executed. */
export class RouteError extends ShardwrightError {}

/** No mapping of the map contains the key. */
export class Unmapped extends RouteError {
  override readonly hint = "map the key to a shard, or correct the key";
}

/** The value is not a key of this map: it has another type, or another number of columns. */
export class NotAKey extends RouteError {
  override readonly hint = "pass the key in the types of the map's key columns";
}

/** No controller has answered for longer than `maxStaleness`. */
export class Stale extends RouteError {
  override readonly hint = "make sure that the application can reach a controller, or increase maxStaleness";
}

/** The map is invalid: mappings overlap, or do not have the form of the map's strategy. */
export class MapError extends ShardwrightError {}

/** No controller returned the map. The cause is the error of the last controller. */
export class FetchFailed extends ShardwrightError {
  override readonly hint = "check the URLs of the controllers, the name of the map, and the token";
}

/** The application has no connection string for the shard. No statement was executed. */
export class NoAccess extends ShardwrightError {
  override readonly hint = "let the access return a connection string for this shard";
}

/** A connection to the shard cannot be opened, and a retry does not help. No statement was executed. */
export class ConnectFailed extends ShardwrightError {}

/** The function returned although one of its statements had failed. The transaction was rolled back. */
export class FailedStatementIgnored extends ShardwrightError {
  override readonly hint = "let the error of the statement leave the function, or run the statement in a savepoint";
}

/** The function ended the transaction itself, which only the library may do. */
export class TransactionEnded extends ShardwrightError {
  override readonly hint = "remove commit and rollback from the function; throw an error to roll back";
}

/** The connection was lost during the commit. The transaction may or may not be committed. */
export class CommitUnknown extends ShardwrightError {
  override readonly hint =
    "before you repeat the transaction, find out on the key's shard whether it was committed, " +
    "for example by a row that it writes";
}

/** Shadow mode needs PostgreSQL's parser, and the package that has it is not installed. */
export class ParserMissing extends ShardwrightError {
  override readonly hint = "install the package libpg-query";
}

/** The time for retries has ended. The last attempt was rolled back. The cause is its error. */
export class GaveUp extends ShardwrightError {}

/** A shard did not answer a query to all shards within the time for retries. The cause is the last error. */
export class NoAnswer extends ShardwrightError {}
