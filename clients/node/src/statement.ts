/**
 * Finds which keys a statement fixes for the tables of a map.
 *
 * PostgreSQL's own parser (libpg_query) reads the statement. A table's key is fixed if each of its key columns is compared
 * by equality with a parameter or a constant: directly, through other columns that are equal, or as a value of INSERT.
 * Functions and views are not analyzed.
 */

/** The value of a parameter, with `isArray` each element of it; or a value in the statement. */
export type Value = { readonly parameter: number; readonly isArray: boolean } | { readonly constant: number | string };

/** A table of the map in a statement. */
export interface TableUse {
  readonly table: string;
  /** For each key column its possible values; `undefined`: the statement does not fix the key. */
  readonly keys: readonly (readonly Value[])[] | undefined;
}

/** The tables of a map with their key columns; for maps of schemas and groups, the key of each table. */
export interface Tables {
  columnsOf(schema: string | undefined, table: string): readonly string[] | undefined;
  keyOf(schema: string | undefined, table: string): string | undefined;
}

// The trees of the parser have a node in an object with the name of its type.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
type Node = any;

interface NamedTable {
  readonly name: string;
  /** The key columns; empty for a table that is not the map's. */
  readonly columns: readonly string[];
  readonly fixedKey: string | undefined;
}

/** A column of a table. */
interface Place {
  readonly table: NamedTable;
  readonly column: string;
}

const QUERIES = new Set(["SelectStmt", "InsertStmt", "UpdateStmt", "DeleteStmt", "MergeStmt"]);

/** The tables of the map in a parsed statement. */
export function usesOf(tree: Node, tables: Tables): TableUse[] {
  return (tree.stmts ?? []).flatMap(({ stmt }: Node) => {
    const query = new Query(tables);
    query.visit(stmt);
    return query.uses();
  });
}

/** Walks through a statement and its subqueries, and collects tables and equalities. */
class Query {
  readonly #tables: Tables;
  readonly #scopes: Map<string, NamedTable>[] = [];
  readonly #named: NamedTable[] = [];
  readonly #common = new Set<string>();
  readonly #equal = new Places<Place[]>();
  readonly #values = new Places<readonly Value[]>();
  readonly #changed: TableUse[] = [];

  constructor(tables: Tables) {
    this.#tables = tables;
  }

  uses(): TableUse[] {
    const uses: TableUse[] = [];
    for (const table of this.#named) {
      if (table.fixedKey !== undefined) uses.push({ table: table.name, keys: [[{ constant: table.fixedKey }]] });
      else if (table.columns.length > 0) uses.push(this.#useOf(table, (column) => this.#valuesOf({ table, column })));
    }
    return [...uses, ...this.#changed];
  }

  #useOf(table: NamedTable, valuesOf: (column: string) => readonly Value[] | undefined): TableUse {
    const values = table.columns.map(valuesOf);
    return { table: table.name, keys: values.every((one) => one !== undefined) ? (values as Value[][]) : undefined };
  }

  /** Visits a node of the tree and what is below it. */
  visit(node: Node): void {
    if (typeof node !== "object" || node === null) return;
    if (Array.isArray(node)) return node.forEach((entry) => this.visit(entry));
    for (const [name, child] of Object.entries<Node>(node)) {
      if (QUERIES.has(name)) {
        this.#visitQuery(name, child);
      } else if (name === "CopyStmt" || name === "TruncateStmt") {
        this.#scopes.push(new Map());
        this.#addTables([child.relation, ...(child.relations ?? [])]);
        this.#scopes.pop();
      } else {
        this.visit(child);
      }
    }
  }

  #visitQuery(name: string, query: Node): void {
    for (const entry of query.withClause?.ctes ?? []) this.#common.add(entry.CommonTableExpr.ctename);
    this.#scopes.push(new Map());
    const sources = [query.relation, ...(query.fromClause ?? []), ...(query.usingClause ?? [])];
    this.#addTables([...sources, query.sourceRelation]);
    for (const source of sources) this.#addJoin(source);
    for (const condition of [query.whereClause, query.joinCondition]) this.#addCondition(condition);
    // The sides of UNION, INTERSECT and EXCEPT are queries, without a node that says so.
    const { larg, rarg, ...fields } = query;
    for (const side of [larg, rarg]) if (side !== undefined) this.#visitQuery(name, side);
    this.visit(Object.values(fields));
    if (name === "InsertStmt") this.#addInsert(query);
    else if (name === "UpdateStmt") this.#addChangedKeys(query);
    this.#scopes.pop();
  }

  #addTables(sources: readonly Node[]): void {
    for (const source of sources) {
      if (source?.JoinExpr !== undefined) this.#addTables([source.JoinExpr.larg, source.JoinExpr.rarg]);
      else if ((source?.RangeVar ?? source)?.relname !== undefined) this.#addTable(source.RangeVar ?? source);
    }
  }

  #addTable({ relname, schemaname, alias }: Node): void {
    const isOwn = schemaname !== undefined || !this.#common.has(relname);
    const columns = (isOwn ? this.#tables.columnsOf(schemaname, relname) : undefined) ?? [];
    const table = { name: relname, columns, fixedKey: isOwn ? this.#tables.keyOf(schemaname, relname) : undefined };
    this.#named.push(table);
    this.#scopes.at(-1)!.set(alias?.aliasname ?? relname, table);
  }

  #addJoin(source: Node): void {
    const join = source?.JoinExpr;
    if (join === undefined) return;
    this.#addJoin(join.larg);
    this.#addJoin(join.rarg);
    this.#addCondition(join.quals);
    for (const entry of join.usingClause ?? []) {
      const places = [...this.#scopes.at(-1)!.values()].map((table) => ({ table, column: entry.String.sval }));
      for (const [at, place] of places.slice(1).entries()) this.#unite(places[at]!, place);
    }
  }

  #addCondition(condition: Node): void {
    const { BoolExpr: bool, A_Expr: expression } = condition ?? {};
    if (bool?.boolop === "AND_EXPR") for (const part of bool.args) this.#addCondition(part);
    else if (bool?.boolop === "OR_EXPR") this.#addAlternatives(bool.args);
    else if (expression !== undefined) for (const [place, values] of this.#bindings(expression, true)) this.#bind(place, values);
  }

  /** `a = 1 or a = 2` fixes `a`, as `a in (1, 2)` does. Columns that only an alternative compares are not equal. */
  #addAlternatives(parts: readonly Node[]): void {
    const bindings = parts.map((part) => this.#bindings(part.A_Expr ?? {}, false));
    for (const [place] of bindings[0]!) {
      const values = bindings.map((binding) => binding.find(([other]) => isSame(place, other))?.[1]);
      if (values.every((one) => one !== undefined)) this.#bind(place, values.flat() as Value[]);
    }
  }

  #bind(place: Place, values: readonly Value[]): void {
    if (this.#values.get(place) === undefined) this.#values.set(place, values);
  }

  /** The columns that an expression fixes. With `unites`, unites columns that it compares with each other. */
  #bindings(expression: Node, unites: boolean): [Place, readonly Value[]][] {
    const operator = (expression.name ?? []).map((part: Node) => part.String?.sval ?? "").join("");
    if (operator !== "=") return [];
    const [left, right] = [uncast(expression.lexpr), uncast(expression.rexpr)];
    if (left.RowExpr !== undefined && right.RowExpr !== undefined) {
      const others: Node[] = right.RowExpr.args ?? [];
      return (left.RowExpr.args ?? []).flatMap((lexpr: Node, at: number) =>
        this.#bindings({ ...expression, lexpr, rexpr: others[at] }, unites),
      );
    }
    const [one, other] = [this.#place(left), this.#place(right)];
    if (unites && one !== undefined && other !== undefined) this.#unite(one, other);
    const place = one ?? other;
    const values = valuesIn(expression.kind, one === undefined ? left : right);
    return place === undefined || values === undefined || (one && other) ? [] : [[place, values]];
  }

  /** The column of a table that a node names. */
  #place(node: Node): Place | undefined {
    const names: (string | undefined)[] = (node.ColumnRef?.fields ?? []).map((entry: Node) => entry.String?.sval);
    const column = names.at(-1);
    if (column === undefined || names.includes(undefined)) return undefined;
    for (const scope of [...this.#scopes].reverse()) {
      const tables = [...scope.values()];
      const named = names.length > 1 ? scope.get(names.at(-2)!) : (tables.find(({ columns }) => columns.includes(column)) ?? (tables.length === 1 ? tables[0] : undefined));
      if (named !== undefined) return { table: named, column };
    }
    return undefined;
  }

  #unite(one: Place, other: Place): void {
    for (const [place, equal] of [[one, other], [other, one]] as const) {
      this.#equal.set(place, [...(this.#equal.get(place) ?? []), equal]);
    }
  }

  /** The values of a column, or of one that is equal to it. */
  #valuesOf(place: Place): readonly Value[] | undefined {
    const passed: Place[] = [place];
    for (const here of passed) {
      const values = this.#values.get(here);
      if (values !== undefined) return values;
      for (const there of this.#equal.get(here) ?? []) if (!passed.some((one) => isSame(one, there))) passed.push(there);
    }
    return undefined;
  }

  #addInsert(query: Node): void {
    const table = [...this.#scopes.at(-1)!.values()][0]!;
    const select = query.selectStmt?.SelectStmt ?? {};
    const names: string[] = (query.cols ?? []).map((entry: Node) => entry.ResTarget.name);
    for (const column of table.columns.filter((one) => names.includes(one))) {
      const at = names.indexOf(column);
      const rows: Node[][] = (select.valuesLists ?? []).map((entry: Node) => entry.List.items);
      const values = rows.map((row) => valuesIn("AEXPR_OP", uncast(row[at])));
      if (rows.length > 0 && values.every((one) => one !== undefined)) this.#values.set({ table, column }, values.flat() as Value[]);
      const target = select.targetList?.[at];
      if (target !== undefined) this.#addSelected({ table, column }, uncast(target.ResTarget.val), select);
    }
  }

  /** INSERT … SELECT: the selected value is the key. */
  #addSelected(key: Place, node: Node, select: Node): void {
    const values = valuesIn("AEXPR_OP", node);
    if (values !== undefined) return void this.#values.set(key, values);
    this.#scopes.push(new Map());
    const before = this.#named.length;
    this.#addTables(select.fromClause ?? []);
    const copies = this.#named.splice(before);
    const place = this.#place(node);
    this.#scopes.pop();
    // The same table of the visited subquery, by its name.
    const isCopy = place !== undefined && copies.includes(place.table);
    const original = isCopy ? this.#named.findLast(({ name }, at) => name === place.table.name && this.#named[at] !== key.table) : place?.table;
    if (place !== undefined && original !== undefined) this.#unite(key, { table: original, column: place.column });
  }

  /** UPDATE of a key column: the row gets another key. */
  #addChangedKeys({ targetList }: Node): void {
    const table = [...this.#scopes.at(-1)!.values()][0]!;
    const changes = new Map<string, Node>((targetList ?? []).map(({ ResTarget: { name, val } }: Node) => [name, val]));
    if (!table.columns.some((column) => changes.has(column))) return;
    const valuesOf = (column: string): readonly Value[] | undefined =>
      changes.has(column) ? valuesIn("AEXPR_OP", uncast(changes.get(column))) : this.#valuesOf({ table, column });
    this.#changed.push(this.#useOf(table, valuesOf));
  }
}

/** A value for each column of each table. */
class Places<T> {
  readonly #entries = new Map<NamedTable, Map<string, T>>();

  get({ table, column }: Place): T | undefined {
    return this.#entries.get(table)?.get(column);
  }

  set({ table, column }: Place, value: T): void {
    const columns = this.#entries.get(table) ?? new Map<string, T>();
    this.#entries.set(table, columns.set(column, value));
  }
}

function isSame(one: Place, other: Place): boolean {
  return one.table === other.table && one.column === other.column;
}

function uncast(node: Node): Node {
  return node?.TypeCast === undefined ? (node ?? {}) : uncast(node.TypeCast.arg);
}

/** The values of the other side of an equality; `undefined` if it has something else than parameters and constants. */
function valuesIn(kind: string, node: Node): readonly Value[] | undefined {
  const elements: Node[] | undefined = node.List?.items ?? node.A_ArrayExpr?.elements;
  if (elements !== undefined) {
    const values = elements.map((element) => valuesIn("AEXPR_OP", uncast(element)));
    return values.every((one) => one !== undefined) ? (values.flat() as Value[]) : undefined;
  }
  if (node.ParamRef !== undefined) return [{ parameter: node.ParamRef.number ?? 0, isArray: kind === "AEXPR_OP_ANY" }];
  const { ival, sval, fval } = node.A_Const ?? {};
  // An integer beyond 32 bits is a numeric for the parser.
  const constant = ival === undefined ? (sval?.sval ?? fval?.fval) : (ival.ival ?? 0);
  return constant === undefined ? undefined : [{ constant }];
}
