// Values of Node are keys, and small parts of the library do what they promise.

import assert from "node:assert/strict";
import test from "node:test";
import { NotAKey, parseJson, Routes } from "../src/index.js";
import { accept, keyAt, type KeyType, type KeyValue, placeOf, text } from "../src/keys.js";
import { joined } from "../src/key-set.js";
import { listeningAccounts } from "../src/machine-token.js";
import { isRefusedAtCommit, Pauses, remedyOf } from "../src/retry.js";
import { EventParser } from "../src/sse.js";

test("values of Node are keys", () => {
  const same: [KeyType, KeyValue, string][] = [
    ["bytea", Buffer.from([0, 255]), "\\x00ff"],
    ["timestamptz", new Date("2024-02-29T12:00:00.5Z"), "2024-02-29 12:00:00.5+00"],
    ["bigint", 1n << 62n, (1n << 62n).toString()],
    ["smallint", 7, "+7"],
  ];
  for (const [type, value, written] of same) assert.deepEqual(accept([type], value), accept([type], written));
});

test("other values of Node are refused", () => {
  const wrong: [KeyType, unknown][] = [
    ["bigint", 2 ** 53],
    ["bigint", true],
    ["bigint", 1.5],
    ["text", "\ud800"],
    ["text", 1],
    ["timestamptz", new Date(Number.NaN)],
    ["uuid", null],
  ];
  for (const [type, value] of wrong) assert.throws(() => accept([type], value as KeyValue), NotAKey, `${type} ${String(value)}`);
});

test("a place has the key that it was made of", () => {
  const types: KeyType[] = ["text", "uuid", "bytea", "bigint"];
  const value: KeyValue = ["ä\u0001🐘", "018f3f5e-9c3a-7c3e-8b1a-2f4d5e6a7b8c", "\\x00ff0000", "-9223372036854775808"];
  const key = keyAt(types, placeOf(types, accept(types, value)));
  assert.deepEqual(key.map((column, at) => text(types[at]!, column)), value);
});

test("JSON keeps integers that numbers do not hold", () => {
  const json = '{"a": 9007199254740993, "b": "9007199254740993", "c": [-9223372036854775808, 9007199254740991], "d": "\\u00009007199254740993 x"}';
  assert.deepEqual(parseJson(json), {
    a: 9007199254740993n,
    b: "9007199254740993",
    c: [-9223372036854775808n, 9007199254740991],
    d: "\0" + "9007199254740993 x",
  });
});

test("every key of a map has its owner", () => {
  const mappings = [[undefined, -5, "a"], [-5, 3, "b"], [7, undefined, "a"]].map(([from, to, shard]) => ({ keys: { range: [{ from, to }] }, shard }));
  const routes = new Routes(JSON.stringify({ name: "m", strategy: "range", key: ["integer"], version: 1, incarnation: "i", mappings }));
  const owners = [-6, -5, 2, 3, 6, 7].map((key) => routes.shards.filter((shard) => routes.ownedBy(shard).contains(accept(["integer"], key))));
  assert.deepEqual(owners, [["a"], ["b"], ["b"], [], [], ["a"]]);
  assert.deepEqual(joined<number>([[5, 9], [undefined, 3], [3, 4], [7, undefined], [2, 2]]), [[undefined, 4], [5, undefined]]);
});

test("events survive any cut of the stream", () => {
  const stream = Buffer.from(': a\n\nevent: map\nid: 7\ndata: {"ä":1}\n\nevent: map\r\ndata: x\r\ndata: y\r\n\r\n');
  const whole = new EventParser().push(stream);
  assert.deepEqual(whole.map(({ data }) => data), ['{"ä":1}', "x\ny"]);
  const parser = new EventParser();
  assert.deepEqual([...stream].flatMap((byte) => parser.push(Buffer.from([byte]))), whole);
});

test("errors of the server and of connections have their remedies", () => {
  const server = (code: string, severity = "ERROR"): Error => Object.assign(new Error(code), { code, severity });
  assert.equal(remedyOf(server("SM001")), "refreshNotOwner");
  assert.equal(remedyOf(new Error("the ORM failed", { cause: server("SM002") })), "refreshNotOpen");
  assert.equal(remedyOf(server("40P01")), "again");
  assert.equal(remedyOf(server("23505")), "none");
  assert.equal(remedyOf(new AggregateError([Object.assign(new Error(), { code: "ECONNREFUSED" })])), "again");
  assert.equal(remedyOf(new Error("no stock")), "none");
  assert.equal(isRefusedAtCommit(server("23514")), true);
  assert.equal(isRefusedAtCommit(server("57P01", "FEHLER")), false);
  // A pooler reports so that it has lost the server, which may have committed.
  assert.equal(isRefusedAtCommit(server("08006", "ERROR")), false);
  assert.equal(isRefusedAtCommit(new Error("Connection terminated unexpectedly")), false);
});

test("pauses grow to their limit", () => {
  const pauses = new Pauses(5, 20);
  for (const middle of [5, 10, 20, 20]) {
    const pause = pauses.next();
    assert.ok(pause >= 0.79 * middle && pause <= 1.21 * middle, `${pause} is not about ${middle}`);
  }
});

test("only programs that listen count for the token of this machine", () => {
  const table =
    "  sl  local_address rem_address st tx rx tr tm retrnsmt uid timeout inode\n" +
    "   0: 0100007F:1D08 00000000:0000 0A 00000000:00000000 00:00000000 00000000 1000 0 1\n" +
    "   1: 0100007F:1D08 0100007F:A000 01 00000000:00000000 00:00000000 00000000 4711 0 2\n";
  assert.deepEqual(listeningAccounts(table, 7432), [1000]);
  assert.deepEqual(listeningAccounts(table, 7433), []);
});
