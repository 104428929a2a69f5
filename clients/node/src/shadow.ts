/**
 * Shadow mode, for an application that still has one database.
 *
 * The map decides which shard each transaction would use; every statement is sent to the one database. What would not
 * work on shards is reported, each kind of statement once, without its values: a statement on a table of the map that
 * does not fix the table's key, a transaction with keys of several shards, and a key that no shard owns.
 */

import { AsyncLocalStorage } from "node:async_hooks";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import type { ClientBase, Pool } from "pg";
import { ParserMissing, RouteError } from "./errors.js";
import type { Part } from "./fan-out.js";
import type { KeyValue } from "./keys.js";
import type { ShardTarget } from "./options.js";
import type { Routes } from "./routes.js";
import { type Tables, type TableUse, usesOf, type Value } from "./statement.js";

const MAX_STATEMENTS = 4096;
const OWN_FOLDER = dirname(fileURLToPath(import.meta.url));

export type FindingKind = "no_key" | "several_shards" | "unmapped_key" | "unreadable";

/** Something that would not work on shards. */
export interface Finding {
  readonly kind: FindingKind;
  /** The statement without its constants. */
  readonly statement: string;
  readonly table: string | undefined;
  readonly shards: readonly string[];
  /** The file and line that executed the statement first. */
  readonly place: string;
  count: number;
}

/** The access of an application that still has one database. */
export class ShadowAccess {
  /** `report` is called for each finding when it occurs first. By default it becomes a warning of the process. */
  constructor(readonly database: ShardTarget, readonly report: (finding: Finding) => void = warn) {}
}

/** What a transaction has touched so far. */
interface Transaction {
  /** The shards of the keys, by this version of the map. */
  readonly shards: Set<string>;
  version: number;
  /** In a query to all shards: the conditions that make a statement complete. */
  readonly predicates: readonly string[];
}

interface Statement {
  readonly normalized: string;
  readonly fingerprint: string;
  readonly uses: readonly TableUse[];
}

type Parser = typeof import("libpg-query");

export class Shadow {
  readonly #current = new AsyncLocalStorage<Transaction>();
  readonly #routes: () => Routes;
  readonly #report: (finding: Finding) => void;
  readonly #parser: Parser;
  readonly #findings = new Map<string, Finding>();
  readonly #transactions = new Map<string, number>();
  readonly #statements = new Map<string, Statement | undefined>();
  #version = 0;

  private constructor(routes: () => Routes, report: (finding: Finding) => void, parser: Parser) {
    [this.#routes, this.#report, this.#parser] = [routes, report, parser];
  }

  /** Loads the parser. */
  static async create(routes: () => Routes, report: (finding: Finding) => void): Promise<Shadow> {
    const parser = await import("libpg-query").catch((cause: unknown) => {
      throw new ParserMissing("shadow mode needs the package libpg-query", { cause });
    });
    await parser.loadModule();
    return new Shadow(routes, report, parser);
  }

  /** Returns what was found so far, the most frequent first. */
  findings(): Finding[] {
    return [...this.#findings.values()].sort((one, other) => other.count - one.count);
  }

  /** Returns how many transactions of `withShard` each shard would have got. */
  transactions(): ReadonlyMap<string, number> {
    return this.#transactions;
  }

  /** Everything that `work` executes is one transaction on the shard of `key`. */
  transaction<T>(key: KeyValue, work: () => Promise<T>): Promise<T> {
    const shard = this.#routes().shardFor(key);
    this.#transactions.set(shard, (this.#transactions.get(shard) ?? 0) + 1);
    return this.#current.run({ ...this.#begun(), shards: new Set([shard]) }, work);
  }

  /** Everything that `work` executes is a query to all shards. */
  query<T>({ predicates }: Part, work: () => Promise<T>): Promise<T> {
    return this.#current.run({ ...this.#begun(), predicates }, work);
  }

  /** Compares every statement of a pool with the map; also for code that does not use `withShard` yet. */
  observe(pool: Pool): void {
    pool.on("connect", (client) => this.#observeClient(client));
  }

  #observeClient(client: ClientBase & { getTransactionStatus?(): string | null }): void {
    const { query } = client;
    let transaction = this.#begun();
    client.query = ((...parts: unknown[]) => {
      const [statement, values] = parts as [string | { text?: string; values?: unknown[] }, unknown];
      const text = typeof statement === "string" ? statement : statement.text;
      if (client.getTransactionStatus?.() !== "T") transaction = this.#begun();
      const passed = typeof statement === "string" || statement.values === undefined ? values : statement.values;
      if (text !== undefined) this.record(text, Array.isArray(passed) ? passed : [], this.#current.getStore() ?? transaction);
      return Reflect.apply(query, client, parts) as unknown;
    }) as typeof query;
  }

  /** Compares a statement with the map. Its parameters are `$1`, `$2`, …. */
  record(sql: string, parameters: readonly unknown[], transaction: Transaction): void {
    const statement = this.#analyzed(sql);
    const [first = ""] = sql.trim().split(/\s/, 1);
    if (statement === undefined) return this.#add("unreadable", { normalized: first, fingerprint: first, uses: [] });
    if (transaction.predicates.some((predicate) => sql.includes(predicate))) return;
    for (const use of statement.uses) this.#checkUse(statement, use, parameters, transaction);
  }

  #begun(): Transaction {
    return { shards: new Set(), version: this.#routes().version, predicates: [] };
  }

  #checkUse(statement: Statement, { table, keys }: TableUse, parameters: readonly unknown[], transaction: Transaction): void {
    if (keys === undefined) return this.#add("no_key", statement, table);
    const [routes, { shards }] = [this.#routes(), transaction];
    // By another version, the same key can be on another shard.
    if (routes.version !== transaction.version) shards.clear();
    transaction.version = routes.version;
    for (const key of keysOf(keys, parameters)) {
      try {
        shards.add(routes.shardFor((key.length > 1 ? key : key[0]) as KeyValue));
      } catch (error) {
        if (!(error instanceof RouteError)) throw error;
        this.#add("unmapped_key", statement, table);
      }
    }
    if (shards.size > 1) this.#add("several_shards", statement, undefined, [...shards].sort());
  }

  #analyzed(sql: string): Statement | undefined {
    const routes = this.#routes();
    if (routes.version !== this.#version || this.#statements.size >= MAX_STATEMENTS) this.#statements.clear();
    this.#version = routes.version;
    if (!this.#statements.has(sql)) this.#statements.set(sql, this.#analyze(sql, tablesOf(routes)));
    return this.#statements.get(sql);
  }

  #analyze(sql: string, tables: Tables): Statement | undefined {
    try {
      const uses = usesOf(this.#parser.parseSync(sql), tables);
      return { normalized: this.#parser.normalizeSync(sql), fingerprint: this.#parser.fingerprintSync(sql), uses };
    } catch {
      return undefined;
    }
  }

  #add(kind: FindingKind, { normalized, fingerprint }: Statement, table?: string, shards: readonly string[] = []): void {
    const id = [kind, fingerprint, table].join(" ");
    const known = this.#findings.get(id);
    if (known !== undefined) {
      known.count += 1;
      return;
    }
    const finding: Finding = { kind, statement: normalized, table, shards, place: placeOfCaller(), count: 1 };
    this.#findings.set(id, finding);
    try {
      this.#report(finding);
    } catch (error) {
      // It must not fail the statement of the application.
      process.emitWarning(`a finding was not reported: ${String(error)}`, "ShardwrightShadow");
    }
  }
}

/** A finding in words. */
export function describe({ kind, statement, table, shards, place }: Finding): string {
  const explanations: Record<FindingKind, string> = {
    no_key: `the statement does not fix the key of table ${table}`,
    several_shards: `the transaction has keys of the shards ${shards.join(", ")}`,
    unmapped_key: `no shard owns the key in table ${table}`,
    unreadable: "the parser does not understand the statement",
  };
  return `${explanations[kind]}: ${statement} (${place})`;
}

function warn(finding: Finding): void {
  process.emitWarning(describe(finding), "ShardwrightShadow");
}

function tablesOf({ settings }: Routes): Tables {
  const columns = new Map(Object.entries(settings.tables ?? {}).map(([table, of]) => [table, typeof of === "string" ? [of] : of]));
  const groups = new Map(Object.entries(settings.groups ?? {}).flatMap(([group, tables]) => tables.map((table) => [table, group] as const)));
  return {
    columnsOf: (schema, table) => columns.get(`${schema}.${table}`) ?? columns.get(table),
    keyOf: (schema, table) => (settings.keyed_by === "schema" ? schema : (groups.get(`${schema}.${table}`) ?? groups.get(table))),
  };
}

/** The keys of a statement. Of a composite key with lists, values at the same position belong together. */
function keysOf(columns: readonly (readonly Value[])[], parameters: readonly unknown[]): unknown[][] {
  const lists = columns.map((values) =>
    values.flatMap((value): unknown[] => {
      if ("constant" in value) return [value.constant];
      const passed = parameters[value.parameter - 1];
      return value.isArray && Array.isArray(passed) ? passed : [passed];
    }),
  );
  const longest = Math.max(...lists.map((list) => list.length));
  const shortest = Math.min(...lists.map((list) => (list.length === 1 ? longest : list.length)));
  return Array.from({ length: shortest }, (_, at) => lists.map((list) => (list.length === 1 ? list[0] : list[at])));
}

/** The file and line of the application: the first one outside of this library and of other packages. */
function placeOfCaller(): string {
  const lines = (new Error().stack ?? "").split("\n").slice(1);
  const isForeign = (line: string): boolean => !line.includes(OWN_FOLDER) && !/node_modules|node:/.test(line);
  return /(?:\(|at )((?:file:)?\S+:\d+):\d+\)?$/.exec(lines.find(isForeign) ?? "")?.[1] ?? "unknown";
}
