/** Decides which errors permit another attempt, and the pause before it. Sends nothing and waits for nothing. */

/** The SQLSTATE of a shard that does not own the key (any more, or not for the moment). */
export const NOT_OWNER = "SM001";
/** The SQLSTATE of a shard that does not own the key yet. */
export const NOT_OPEN = "SM002";
/** Serialization failure, deadlock; the server stops, has crashed or starts; no connection is free. */
const AGAIN = new Set(["40001", "40P01", "57P01", "57P02", "57P03", "53300"]);
/** Errors of sockets, and those of the driver, which have no code. */
const LOST_CODES = new Set(["ECONNREFUSED", "ECONNRESET", "EPIPE", "ETIMEDOUT", "EHOSTUNREACH", "ENETUNREACH", "EAI_AGAIN"]);
const LOST_MESSAGE = /connection terminated|connection ended|timeout exceeded when trying to connect|timeout expired|not queryable/i;

/** What to do after an error that occurred before the commit was sent. */
export type Remedy = "refreshNotOwner" | "refreshNotOpen" | "again" | "none";

/** One attempt of a transaction on a shard, and how far it got. */
export interface Attempt {
  readonly shard: string;
  stage: "connect" | "work" | "commit";
}

/** Decides what to do after an error: finds the error of the server or the connection in its causes. */
export function remedyOf(error: unknown): Remedy {
  for (const cause of causes(error)) {
    const state = sqlstateOf(cause);
    if (state === NOT_OWNER) return "refreshNotOwner";
    if (state === NOT_OPEN) return "refreshNotOpen";
    if (state !== undefined) return AGAIN.has(state) || state.startsWith("08") ? "again" : "none";
    if (isLost(cause)) return "again";
  }
  return "none";
}

/** Whether a failed commit was certainly rolled back: the session still exists and reported the error. */
export function isRefusedAtCommit(error: unknown): boolean {
  return causes(error).some((cause) => {
    const [state, { severity }] = [sqlstateOf(cause), cause as { severity?: string }];
    // A server may report the severity in another language, and a pooler reports with ERROR that it has lost the server;
    // these classes end a session.
    return state !== undefined && !/^(57P|08|XX)/.test(state) && severity !== "FATAL" && severity !== "PANIC";
  });
}

/** The SQLSTATE that the server reported; `undefined` if no cause of the error is the server's. */
export function sqlstate(error: unknown): string | undefined {
  return causes(error).map(sqlstateOf).find((state) => state !== undefined);
}

function sqlstateOf(error: object): string | undefined {
  const { code, severity } = error as { code?: unknown; severity?: unknown };
  return typeof severity === "string" && typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) ? code : undefined;
}

function isLost(error: object): boolean {
  const { code, message } = error as { code?: unknown; message?: unknown };
  return LOST_CODES.has(String(code)) || LOST_MESSAGE.test(String(message));
}

/** The error and its causes; an error of several attempts to connect has one for each address. */
function causes(error: unknown): object[] {
  const found: object[] = [];
  const waiting: unknown[] = [error];
  for (let next = waiting.shift(); next !== undefined && found.length < 32; next = waiting.shift()) {
    if (typeof next !== "object" || next === null || found.includes(next)) continue;
    found.push(next);
    if (next instanceof AggregateError) waiting.push(...next.errors);
    waiting.push((next as { cause?: unknown }).cause ?? null);
  }
  return found;
}

/** Pauses, each twice as long as the one before. Each is changed at random by up to a fifth. */
export class Pauses {
  #next: number;

  constructor(first: number, readonly longest: number) {
    this.#next = first;
  }

  /** Returns the next pause in milliseconds. */
  next(): number {
    const pause = this.#next * (0.8 + Math.random() * 0.4);
    this.#next = Math.min(this.#next * 2, this.longest);
    return pause;
  }
}
