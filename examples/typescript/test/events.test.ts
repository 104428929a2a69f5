// Server-sent events survive any cut of the stream.

import assert from "node:assert/strict";
import test from "node:test";
import { Events } from "../src/feed.js";

test("events survive any cut of the stream", () => {
  const text = ': hello\n\nevent: map\nid: 7\ndata: {"a":1}\n\nevent: map\r\ndata: x\r\ndata: y\r\n\r\n';
  const whole = new Events().push(text);
  const events = new Events();
  assert.deepEqual([...text].flatMap((character) => events.push(character)), whole);
  assert.deepEqual(whole.map(({ data }) => data), ['{"a":1}', "x\ny"]);
});
