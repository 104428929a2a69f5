/**
 * The controllers that serve a map, and one request to one of them.
 *
 * Every controller can answer. If one fails, all later requests use the next one. A follower may redirect to the leader:
 * the redirect is followed with the token, because it comes from a controller that has already received the token.
 */

import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import * as http from "node:http";
import * as https from "node:https";
import { machineTokenFile } from "./machine-token.js";
import type { Settings } from "./options.js";

export const READ_TIMEOUT = 5_000;
const MAX_REDIRECTS = 4;

export class Controllers {
  readonly urls: readonly string[];
  readonly #tokenFile: string | undefined;
  readonly #authorities: Buffer | undefined;
  #position = 0;

  constructor(urls: string, name: string, { tokenFile, caFile }: Settings) {
    this.urls = urls.split(",").map((url) => `${url.trim().replace(/\/+$/, "")}/api/v1/maps/${name}`);
    this.#tokenFile = tokenFile;
    this.#authorities = caFile === undefined ? undefined : readFileSync(caFile);
  }

  /** The URL of the map at the controller for the next request. */
  get current(): string {
    return this.urls[this.#position % this.urls.length]!;
  }

  /** Switches to the next controller after `failed`, unless another request has already done so. */
  switchAfterFailure(failed: string): void {
    if (this.current === failed) this.#position += 1;
  }

  /** Returns the body of the answer. */
  async read(url: string, signal: AbortSignal): Promise<string> {
    const answer = await this.#request(new URL(url), signal);
    // Silence within the body has the same limit as before it.
    answer.setTimeout(READ_TIMEOUT, () => answer.destroy(new Error(`${url} stopped within its answer`)));
    return readAll(answer);
  }

  /** Sends a document. */
  async post(url: string, body: string, signal: AbortSignal): Promise<void> {
    (await this.#request(new URL(url), signal, body)).resume();
  }

  /** Opens the feed of the map's changes. */
  async openFeed(url: string, signal: AbortSignal): Promise<http.IncomingMessage> {
    return this.#request(new URL(`${url}/changes`), signal);
  }

  async #request(url: URL, signal: AbortSignal, body?: string): Promise<http.IncomingMessage> {
    let target = url;
    for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
      const headers = await this.#headers(target);
      const method = body === undefined ? "GET" : "POST";
      const answer = await this.#send(target, { method, headers, signal, agent: false }, body);
      const { statusCode = 0, headers: { location } } = answer;
      if (statusCode === 307 && location !== undefined) {
        answer.resume();
        target = new URL(location, target);
      } else if (statusCode >= 200 && statusCode < 300) {
        return answer;
      } else {
        throw new Error(`${target.href} answered ${statusCode}: ${problemOf(await readAll(answer)) ?? answer.statusMessage}`);
      }
    }
    throw new Error(`${url.href} redirects too often`);
  }

  #send(url: URL, options: http.RequestOptions, body?: string): Promise<http.IncomingMessage> {
    return new Promise((resolve, reject) => {
      const ca = this.#authorities === undefined ? {} : { ca: this.#authorities };
      const isTls = url.protocol === "https:";
      const request = isTls ? https.request(url, { ...options, ...ca }, resolve) : http.request(url, options, resolve);
      const limit = setTimeout(() => request.destroy(new Error(`${url.href} did not answer`)), READ_TIMEOUT);
      request.on("response", () => clearTimeout(limit));
      request.on("error", (error) => {
        clearTimeout(limit);
        reject(error);
      });
      request.end(body);
    });
  }

  async #headers(url: URL): Promise<http.OutgoingHttpHeaders> {
    const file = this.#tokenFile ?? (await machineTokenFile(url));
    const type = { "content-type": "application/json" };
    return file === undefined ? type : { ...type, authorization: `Bearer ${(await readFile(file, "ascii")).trim()}` };
  }
}

async function readAll(answer: http.IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of answer) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

/** The code and the detail of a problem, as the API describes errors. */
function problemOf(body: string): string | undefined {
  try {
    const { code, detail } = JSON.parse(body) as { code?: unknown; detail?: unknown };
    return typeof code === "string" ? `${code}: ${String(detail)}` : undefined;
  } catch {
    return undefined;
  }
}
