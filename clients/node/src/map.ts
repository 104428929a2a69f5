/** The interface for applications: routing by key, and transactions that are repeated on the new owner after a cutover. */

import type { PoolClient } from "pg";
import {
  CommitUnknown, ConnectFailed, GaveUp, NoAnswer, RouteError, ShardwrightError, Stale,
} from "./errors.js";
import { FanOut, type Part, partsOf, settleAll } from "./fan-out.js";
import { Feed } from "./feed.js";
import { display, type KeyValue } from "./keys.js";
import { beginOf, type Options, READ_ONLY, type Settings, type ShardAccess, type TransactionOptions, withDefaults } from "./options.js";
import { Pools, transact } from "./pool.js";
import { type Attempt, isRefusedAtCommit, Pauses, remedyOf } from "./retry.js";
import type { Routes } from "./routes.js";
import { Shadow, ShadowAccess } from "./shadow.js";
import { type Counters, newCounters, type Stats } from "./stats.js";

/** In shadow mode there is one pool, of the one database. */
const ONE_DATABASE = "the one database";

/** A cached shard map, which follows the changes of the map. */
export class ShardMap {
  /** What shadow mode has found; `undefined` without shadow mode. */
  readonly shadow: Shadow | undefined;
  readonly #feed: Feed;
  readonly #settings: Settings;
  readonly #counters: Counters;
  readonly #pools: Pools;
  #closed: Promise<void> | undefined;

  private constructor(feed: Feed, settings: Settings, counters: Counters, access: ShardAccess, shadow: Shadow | undefined) {
    [this.#feed, this.#settings, this.#counters, this.shadow] = [feed, settings, counters, shadow];
    this.#pools = new Pools(access, settings, (pool) => shadow?.observe(pool));
  }

  /**
   * Reads the map `name`, and starts to follow its changes.
   *
   * `controllers` is a URL, or several that are separated by commas: if a controller fails, the next one is used.
   * Afterwards lookups use the cache, even if no controller can be reached. Throws `FetchFailed`.
   */
  static async connect(
    controllers: string,
    name: string,
    access: ShardAccess | ShadowAccess,
    options: Options = {},
  ): Promise<ShardMap> {
    const [settings, counters] = [withDefaults(options), newCounters()];
    const feed = await Feed.open(controllers, name, settings, counters);
    if (!(access instanceof ShadowAccess)) return new ShardMap(feed, settings, counters, access, undefined);
    try {
      const shadow = await Shadow.create(() => feed.routes, access.report);
      return new ShardMap(feed, settings, counters, () => access.database, shadow);
    } catch (error) {
      await feed.close();
      throw error;
    }
  }

  /** Ends the following of the map, and closes the pools that the library has made. A second call waits for the first. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    await this.#feed.close();
    await this.#pools.close();
  }

  /** The cached version of the map, for many lookups that belong together. These lookups are not counted. */
  get routes(): Routes {
    return this.#feed.routes;
  }

  /** Returns the shard that owns `key`, according to the cached map. Throws a `RouteError`. */
  shardFor(key: KeyValue): string {
    return this.#countedShardFor(key);
  }

  /** Returns the counters of the library. */
  stats(): Stats {
    return { ...this.#counters, version: this.routes.version, silence: this.#feed.silence };
  }

  /** Waits until the cache has a version above `known`, but for at most `pause` milliseconds. */
  async waitForNewer(known: number, pause: number): Promise<void> {
    await this.#feed.waitForNewer(known, pause);
  }

  /**
   * Runs `work(client)` in a transaction on the shard that owns `key`, and commits the transaction.
   *
   * `work` runs again from its start, on the shard of the newest map, if the shard refuses the key, after a serialization
   * failure or a deadlock, and if the connection is lost before the commit was sent. Therefore effects of `work` outside
   * the database must permit a repetition.
   *
   * Throws `CommitUnknown` if the connection is lost during the commit. Every other error means that nothing was
   * committed. Errors of `work` are thrown unchanged.
   */
  async withShard<T>(key: KeyValue, work: (client: PoolClient) => Promise<T>, options: TransactionOptions = {}): Promise<T> {
    this.#countedShardFor(key);
    // Each version can have other key types.
    let used = this.routes;
    const giveUp = (note: string, cause: unknown): GaveUp =>
      new GaveUp(`key ${display(used.keyTypes, used.accept(key))}: ${note}`, { cause });
    const run = (attempt: Attempt): Promise<T> => this.#transact(attempt, beginOf(options), work);
    const next = (): string => (used = this.#freshRoutes()).shardFor(key);
    const attempts = (): Promise<T> => this.#retry(next, run, giveUp);
    return this.shadow === undefined ? attempts() : this.shadow.transaction(key, attempts);
  }

  /**
   * Runs `work(part, client)` on every shard that owns keys, on at most `limit` at the same time.
   *
   * Each runs in a read-only transaction with one snapshot, and again from its start if a connection is lost. If a shard
   * does not answer, the result contains its error and the answers of the others.
   */
  async onAll<T>(work: (part: Part, client: PoolClient) => Promise<T>, limit = 8): Promise<FanOut<T>> {
    const routes = this.#freshRoutes();
    const parts = partsOf(routes);
    const answers = await settleAll(parts, limit, (part) => {
      const query = (): Promise<T> => this.#query(part, work);
      return this.shadow === undefined ? query() : this.shadow.query(part, query);
    });
    const { version } = this.routes;
    const shards = new Map(parts.map(({ shard }, at) => [shard, answers[at]!]));
    return new FanOut(routes.version, version === routes.version ? undefined : version, shards);
  }

  #query<T>(part: Part, work: (part: Part, client: PoolClient) => Promise<T>): Promise<T> {
    const run = (attempt: Attempt): Promise<T> => this.#transact(attempt, READ_ONLY, (client) => work(part, client));
    const giveUp = (note: string, cause: unknown): NoAnswer => new NoAnswer(`shard ${part.shard}: ${note}`, { cause });
    return this.#retry(() => part.shard, run, giveUp);
  }

  /** Runs attempts until one succeeds, or until an error ends them. */
  async #retry<T>(
    next: () => string,
    run: (attempt: Attempt) => Promise<T>,
    giveUp: (note: string, cause: unknown) => ShardwrightError,
  ): Promise<T> {
    const begun = performance.now();
    const pauses = new Pauses(this.#settings.firstPause, this.#settings.longestPause);
    for (let attempts = 1; ; attempts += 1) {
      const { version } = this.routes;
      const attempt: Attempt = { shard: next(), stage: "connect" };
      try {
        return await run(attempt);
      } catch (error) {
        this.#throwFinal(error, attempt);
        const [pause, waited] = [pauses.next(), performance.now() - begun];
        if (waited + pause > this.#settings.retryFor) {
          throw giveUp(`gave up after ${attempts} attempt(s) in ${(waited / 1000).toFixed(1)} s: ${String(error)}`, error);
        }
        this.#countRetry(error);
        // A newer map ends the pause early, regardless of the reason for the pause.
        await this.#feed.waitForNewer(version, pause);
      }
    }
  }

  /** Throws what the application receives, unless another attempt may follow. */
  #throwFinal(error: unknown, { shard, stage }: Attempt): void {
    if (error instanceof ShardwrightError) throw error;
    if (stage === "commit" && !isRefusedAtCommit(error)) {
      this.#counters.commitsUnknown += 1;
      const what = `the connection to shard ${shard} was lost during the commit`;
      throw new CommitUnknown(`${what}; the outcome of the transaction is unknown`, { cause: error });
    }
    if (remedyOf(error) !== "none") return;
    if (stage !== "connect") throw error;
    throw new ConnectFailed(`cannot connect to shard ${shard}: ${String(error)}`, { cause: error });
  }

  #countRetry(error: unknown): void {
    const remedy = remedyOf(error);
    this.#counters.retries += 1;
    if (remedy === "refreshNotOwner") this.#counters.notOwner += 1;
    if (remedy === "refreshNotOpen") this.#counters.notOpen += 1;
  }

  #transact<T>(attempt: Attempt, begin: string, work: (client: PoolClient) => Promise<T>): Promise<T> {
    const pool = this.#pools.poolOf(this.shadow === undefined ? attempt.shard : ONE_DATABASE);
    return transact(pool, attempt, begin, work);
  }

  /** Returns the shard that owns a key. Counts the lookup. */
  #countedShardFor(value: KeyValue): string {
    this.#counters.lookups += 1;
    try {
      const routes = this.#freshRoutes();
      const key = routes.accept(value);
      const shard = routes.shardOf(key);
      this.#feed.countUse(routes, key);
      return shard;
    } catch (error) {
      if (error instanceof RouteError) this.#counters.lookupsRefused += 1;
      throw error;
    }
  }

  /** Returns the cached map, unless it is older than `maxStaleness`. */
  #freshRoutes(): Routes {
    const [{ maxStaleness }, { silence, routes }] = [this.#settings, this.#feed];
    if (maxStaleness === undefined || silence <= maxStaleness) return routes;
    const age = `no controller has answered for ${(silence / 1000).toFixed(1)} s`;
    throw new Stale(`map ${routes.name} version ${routes.version} may be out of date: ${age}`);
  }
}
