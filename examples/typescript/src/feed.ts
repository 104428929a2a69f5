/**
 * The map in memory, following its changes.
 *
 * One read, then the change feed; where the feed breaks, a pause with jitter, at the next controller. What is in memory
 * answers all the while. A version only ever replaces a lower one.
 */

import { EventEmitter, once } from "node:events";
import { readFile } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";
import { type Value } from "./keys.js";
import { type MapDocument, parse, Routes } from "./routes.js";

const FIRST_PAUSE = 20;
const LONGEST_PAUSE = 2_000;
const READ_LIMIT = 5_000;
/** The controller sends comments more often. */
const SILENCE = 45_000;

export interface MapOptions {
  /** The file of the application's token, where the controller asks for one. */
  readonly tokenFile?: string;
}

export class ShardMap {
  readonly #urls: readonly string[];
  readonly #options: MapOptions;
  readonly #closed = new AbortController();
  readonly #changes = new EventEmitter();
  #routes: Routes;
  #heard = Date.now();

  private constructor(urls: readonly string[], options: MapOptions, first: Routes) {
    this.#urls = urls;
    this.#options = options;
    this.#routes = first;
    this.#changes.setMaxListeners(0);
    void this.#follow();
  }

  /** Reads the map once; `controllers` are addresses, separated by commas. */
  static async connect(controllers: string, name: string, options: MapOptions = {}): Promise<ShardMap> {
    const urls = controllers.split(",").map((url) => `${url.trim().replace(/\/$/, "")}/api/v1/maps/${name}`);
    return new ShardMap(urls, options, await readSomewhere(urls, options));
  }

  close(): void {
    this.#closed.abort();
  }

  /** The newest version that is known. */
  get routes(): Routes {
    return this.#routes;
  }

  /** Milliseconds since a controller was heard last: how old the map may be. */
  get silentFor(): number {
    return Date.now() - this.#heard;
  }

  /** The shard that owns the key. */
  shardFor(key: Value | readonly Value[]): string {
    return this.#routes.shardFor(key);
  }

  /** Resolves once a later version is known, at the latest after so long; then it is asked for besides. */
  async newerThan(version: number, milliseconds: number): Promise<void> {
    if (this.#routes.version > version) return;
    const waited = await Promise.race([
      once(this.#changes, "newer").then(() => false),
      pause(milliseconds, true, { ref: false }),
    ]);
    if (waited) await readSomewhere(this.#urls, this.#options).then((routes) => this.#offer(routes), () => undefined);
  }

  #offer(routes: Routes): void {
    if (routes.version <= this.#routes.version) return;
    this.#routes = routes;
    this.#changes.emit("newer");
  }

  async #follow(): Promise<void> {
    let [wait, turn] = [FIRST_PAUSE, 0];
    while (!this.#closed.signal.aborted) {
      try {
        await this.#listen(this.#urls[turn % this.#urls.length]!);
        wait = FIRST_PAUSE;
      } catch {
        turn += 1;
      }
      await pause(wait * (0.8 + Math.random() * 0.4), undefined, { ref: false });
      wait = Math.min(wait * 2, LONGEST_PAUSE);
    }
  }

  async #listen(url: string): Promise<void> {
    const silent = new AbortController();
    const signal = AbortSignal.any([silent.signal, this.#closed.signal]);
    const timer = setTimeout(() => silent.abort(), SILENCE);
    try {
      const answer = await open(`${url}/changes`, this.#options, signal);
      // A version between the last read and the beginning of the feed must not be missed.
      this.#offer(await read(url, this.#options));
      const events = new Events();
      for await (const portion of answer.body!.pipeThrough(new TextDecoderStream())) {
        timer.refresh();
        this.#heard = Date.now();
        for (const { name, data } of events.push(portion)) {
          if (name === "map") this.#offer(new Routes(parse(data) as MapDocument));
        }
      }
    } finally {
      clearTimeout(timer);
    }
  }
}

async function open(url: string, options: MapOptions, signal: AbortSignal): Promise<Response> {
  const token = options.tokenFile && (await readFile(options.tokenFile, "ascii")).trim();
  const headers: Record<string, string> = token ? { authorization: `Bearer ${token}` } : {};
  const answer = await fetch(url, { headers, signal });
  if (!answer.ok) throw new Error(`${url} answered ${answer.status}`);
  return answer;
}

async function read(url: string, options: MapOptions): Promise<Routes> {
  const answer = await open(url, options, AbortSignal.timeout(READ_LIMIT));
  return new Routes(parse(await answer.text()) as MapDocument);
}

async function readSomewhere(urls: readonly string[], options: MapOptions): Promise<Routes> {
  let failed: unknown;
  for (const url of urls) {
    try {
      return await read(url, options);
    } catch (error) {
      failed = error;
    }
  }
  throw failed;
}

/** Cuts a stream of text into server-sent events. */
export class Events {
  #rest = "";
  #name = "";
  #data: string[] = [];

  /** Takes the next portion and returns the events that it completes. */
  push(portion: string): { name: string; data: string }[] {
    const complete = [];
    const lines = (this.#rest + portion).split("\n");
    this.#rest = lines.pop()!;
    for (const line of lines.map((line) => line.replace(/\r$/, ""))) {
      const [, field, value] = /^([^:]*):? ?(.*)$/s.exec(line)!;
      if (line === "") {
        if (this.#data.length > 0) complete.push({ name: this.#name, data: this.#data.join("\n") });
        [this.#name, this.#data] = ["", []];
      } else if (field === "event") {
        this.#name = value!;
      } else if (field === "data") {
        this.#data.push(value!);
      }
    }
    return complete;
  }
}
