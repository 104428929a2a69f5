// Keys and key sets are what PostgreSQL computed of them: docs/golden/keys.json.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { accept, bucket, hash64, KeyError, type KeyType, ordered, type Value } from "../src/keys.js";
import { type KeySet, parse, Routes, Unmapped } from "../src/routes.js";

interface Entry {
  readonly key: Value | readonly Value[];
  readonly texts: readonly string[];
  readonly ordered: string;
  readonly hash?: string;
  readonly buckets: readonly number[];
}

interface Group {
  readonly columns: readonly string[];
  readonly keys: readonly Entry[];
  readonly sets: readonly { readonly set: KeySet; readonly members: readonly number[] }[];
}

const file = new URL("../../../../docs/golden/keys.json", import.meta.url);
const { groups } = parse(readFileSync(file, "utf8")) as { groups: Group[] };
const typesOf = (group: Group): KeyType[] =>
  group.columns.map((name) => (name === "varchar" ? "text" : (name as KeyType)));

test("keys are as the server has them", () => {
  let seen = 0;
  for (const group of groups) {
    const types = typesOf(group);
    for (const entry of group.keys) {
      const key = accept(types, entry.key);
      assert.deepEqual(accept(types, entry.texts), key);
      assert.equal(ordered(key).toString("hex"), entry.ordered);
      if (entry.hash !== undefined) {
        assert.equal(BigInt.asIntN(64, hash64(key)).toString(), entry.hash);
        assert.deepEqual([1, 16, 4096].map((of) => bucket(key, of)), entry.buckets);
      }
      seen += 1;
    }
  }
  assert.ok(seen > 400);
});

test("sets have the members that the server finds", () => {
  let seen = 0;
  for (const group of groups) {
    const types = typesOf(group);
    for (const { set, members } of group.sets) {
      const buckets = "hash" in set ? set.hash.of : 0;
      const mappings = [{ keys: set, shard: "s" }];
      const routes = new Routes({ name: "m", version: 1, key: types, buckets, mappings });
      const found = group.keys.flatMap((entry, place) => (isHeld(routes, entry.key) ? [place] : []));
      assert.deepEqual(found, members, JSON.stringify(set));
      seen += 1;
    }
  }
  assert.ok(seen > 400);
});

function isHeld(routes: Routes, key: Value | readonly Value[]): boolean {
  try {
    return routes.shardFor(key) === "s";
  } catch (error) {
    if (error instanceof Unmapped) return false;
    throw error;
  }
}

test("values of Node are keys", () => {
  const same: [KeyType, Value, string][] = [
    ["bytea", Buffer.from([0, 255]), "\\x00ff"],
    ["timestamptz", new Date("2024-02-29T12:00:00.5Z"), "2024-02-29 12:00:00.5+00"],
    ["bigint", 1n << 62n, (1n << 62n).toString()],
    ["smallint", 7, "7"],
  ];
  for (const [type, value, said] of same) assert.deepEqual(accept([type], value), accept([type], said));
  const wrong: [KeyType, Value][] = [["bigint", 1n << 63n], ["bigint", 1.5], ["smallint", "x"], ["text", 1], ["uuid", "x"]];
  for (const [type, value] of wrong) assert.throws(() => accept([type], value), KeyError);
});
