/**
 * The cached map, and what follows its changes.
 *
 * The map is read once, then the change feed is followed. If the feed breaks, there is a pause with jitter, the map is
 * read and the feed opened again; if a controller has failed, the next one is used. The cache answers during all of
 * this. A version is only replaced by a higher one.
 */

import { EventEmitter } from "node:events";
import type { IncomingMessage } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { Controllers } from "./controllers.js";
import { FetchFailed } from "./errors.js";
import type { Key } from "./keys.js";
import { LoadSummary } from "./load.js";
import type { Settings } from "./options.js";
import { Pauses } from "./retry.js";
import { Routes } from "./routes.js";
import { EventParser } from "./sse.js";
import type { Counters } from "./stats.js";

const FIRST_PAUSE = 20;
const LONGEST_PAUSE = 2_000;
/** If the feed is silent for longer than this, it counts as broken. The controller sends comments more often. */
const MAX_SILENCE = 45_000;
/** The least time between two reads in addition to the feed. */
const MIN_READ_INTERVAL = 200;

export class Feed {
  readonly #controllers: Controllers;
  readonly #counters: Counters;
  readonly #readAfter: number;
  readonly #closed = new AbortController();
  readonly #changes = new EventEmitter().setMaxListeners(0);
  readonly #running: Promise<unknown>;
  readonly #load: LoadSummary | undefined;
  #routes: Routes;
  #lastAnswer = performance.now();
  #lastExtraRead = -MIN_READ_INTERVAL;

  private constructor(controllers: Controllers, settings: Settings, counters: Counters, first: Routes) {
    [this.#controllers, this.#counters, this.#routes] = [controllers, counters, first];
    const half = settings.maxStaleness === undefined ? MAX_SILENCE : settings.maxStaleness / 2;
    this.#readAfter = Math.min(Math.max(half, MIN_READ_INTERVAL), MAX_SILENCE);
    this.#load = settings.reportLoad === undefined ? undefined : new LoadSummary(first);
    const reports = settings.reportLoad === undefined ? [] : [this.#reportLoad(settings.reportLoad)];
    this.#running = Promise.all([this.#follow(), ...reports]);
  }

  /** Reads the map and begins to follow it. Throws `FetchFailed` if no controller returns the map now. */
  static async open(urls: string, name: string, settings: Settings, counters: Counters): Promise<Feed> {
    try {
      const controllers = new Controllers(urls, name, settings);
      return new Feed(controllers, settings, counters, await read(controllers, new AbortController().signal));
    } catch (error) {
      const reason = error instanceof Error ? error.message || error.constructor.name : String(error);
      throw new FetchFailed(`map ${name} could not be read from ${urls}: ${reason}`, { cause: error });
    }
  }

  /** Ends the following and its connections. */
  async close(): Promise<void> {
    this.#closed.abort();
    await this.#running;
  }

  /** The newest known version. */
  get routes(): Routes {
    return this.#routes;
  }

  /** The milliseconds since a controller last answered. */
  get silence(): number {
    return performance.now() - this.#lastAnswer;
  }

  /** Counts one use of a key, if the options require reports. */
  countUse(routes: Routes, key: Key): void {
    this.#load?.count(routes, key);
  }

  /** Waits until the cache has a version above `known`, but for at most `pause`. Then it reads the map itself. */
  async waitForNewer(known: number, pause: number): Promise<void> {
    if (this.#routes.version > known) return;
    const ended = new AbortController();
    const isNewer = new Promise<boolean>((resolve) => {
      const check = (): void => {
        if (this.#routes.version > known) resolve(true);
      };
      this.#changes.on("newer", check);
      ended.signal.addEventListener("abort", () => this.#changes.off("newer", check));
    });
    try {
      const isLate = sleep(pause, false, { signal: ended.signal }).catch(() => false);
      if (!(await Promise.race([isNewer, isLate]))) await this.#readAgain();
    } finally {
      ended.abort();
    }
  }

  /** Reads the map in addition to the feed, in case the feed is broken, but not too often. */
  async #readAgain(): Promise<void> {
    const now = performance.now();
    if (now - this.#lastExtraRead < MIN_READ_INTERVAL) return;
    this.#lastExtraRead = now;
    // If no controller answers, the cached map is used.
    await this.#read().catch(() => undefined);
  }

  async #read(): Promise<void> {
    const routes = await read(this.#controllers, this.#closed.signal);
    this.#recordAnswer();
    this.#offer(routes);
  }

  #recordAnswer(): void {
    this.#lastAnswer = performance.now();
  }

  #offer(routes: Routes): void {
    if (routes.version <= this.#routes.version) return;
    this.#routes = routes;
    this.#counters.refreshes += 1;
    this.#changes.emit("newer");
  }

  /** Reports the most used keys at the end of each window. If a controller does not accept a report, it is lost. */
  async #reportLoad(every: number): Promise<void> {
    const { signal } = this.#closed;
    for (let begun = performance.now(); !signal.aborted; ) {
      await sleep(every, undefined, { signal }).catch(() => undefined);
      const counts = this.#load?.take() ?? [];
      const window = Math.round(performance.now() - begun);
      begun = performance.now();
      if (counts.length === 0 || signal.aborted) continue;
      const url = this.#controllers.current;
      const report = `{"counts":[${counts.join(",")}],"window_ms":${window}}`;
      await this.#controllers.post(`${url}/counters`, report, signal).catch(() => this.#controllers.switchAfterFailure(url));
    }
  }

  async #follow(): Promise<void> {
    const { signal } = this.#closed;
    let pauses = new Pauses(FIRST_PAUSE, LONGEST_PAUSE);
    while (!signal.aborted) {
      const url = this.#controllers.current;
      try {
        await this.#followFeed(url);
        pauses = new Pauses(FIRST_PAUSE, LONGEST_PAUSE);
      } catch {
        this.#controllers.switchAfterFailure(url);
      }
      // An abort ends the pause.
      await sleep(pauses.next(), undefined, { signal }).catch(() => undefined);
      if (!signal.aborted) this.#counters.reconnects += 1;
    }
  }

  /** Follows the feed until it ends or is silent for too long. */
  async #followFeed(url: string): Promise<void> {
    const feed = await this.#controllers.openFeed(url, this.#closed.signal);
    // An error before the first chunk is requested is reported by the loop.
    feed.on("error", () => undefined);
    try {
      // This read finds a version that was created between the last read and the start of the feed.
      await this.#read();
      const parser = new EventParser();
      for await (const chunk of this.#untilSilent(feed)) {
        this.#recordAnswer();
        for (const { name, data } of parser.push(chunk)) {
          if (name === "map") this.#offer(new Routes(data));
        }
      }
    } finally {
      feed.destroy();
    }
  }

  /** The chunks of the feed. Reads the map in addition while no chunk arrives. */
  async *#untilSilent(feed: IncomingMessage): AsyncGenerator<Buffer> {
    const chunks = feed[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
    for (;;) {
      const began = performance.now();
      const arrival = chunks.next();
      let next: IteratorResult<Buffer> | undefined;
      while ((next = await this.#withinLimit(arrival)) === undefined) {
        if (performance.now() - began >= MAX_SILENCE) throw new Error("the feed is silent");
        await this.#read();
      }
      if (next.done === true) return;
      yield next.value;
    }
  }

  /** What a promise resolves to, or nothing after `readAfter`. */
  async #withinLimit<T>(arrival: Promise<T>): Promise<T | undefined> {
    const ended = new AbortController();
    const isLate = sleep(this.#readAfter, undefined, { signal: ended.signal }).catch(() => undefined);
    try {
      return await Promise.race([arrival, isLate]);
    } finally {
      ended.abort();
    }
  }
}

/** Sends a request to each controller until one answers. */
async function read(controllers: Controllers, signal: AbortSignal): Promise<Routes> {
  let failure: unknown;
  for (let count = controllers.urls.length; count > 0; count -= 1) {
    const url = controllers.current;
    try {
      return new Routes(await controllers.read(url, signal));
    } catch (error) {
      controllers.switchAfterFailure(url);
      failure = error;
    }
  }
  throw failure;
}
