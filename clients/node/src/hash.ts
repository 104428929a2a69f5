/** PostgreSQL's 64-bit hashes with seed 0: Bob Jenkins' lookup3, as in `hash_bytes_extended`. Words are 32 bits. */

type State = [number, number, number];

const MIX = [[0, 2, 1, 4], [1, 0, 2, 6], [2, 1, 0, 8], [0, 2, 1, 16], [1, 0, 2, 19], [2, 1, 0, 4]] as const;
const FINISH = [[2, 1, 14], [0, 2, 11], [1, 0, 25], [2, 1, 16], [0, 2, 4], [1, 0, 14], [2, 1, 24]] as const;

/** The hash of an integer, and of a time, as in `hashint8extended`. */
export function hashInt8(value: bigint): bigint {
  const [low, high] = [Number(BigInt.asIntN(32, value)), Number(BigInt.asIntN(32, value >> 32n))];
  return hashWord(low ^ (value >= 0n ? high : ~high));
}

/** The hash of 32 bits. */
export function hashWord(word: number): bigint {
  const state = start(4);
  state[0] = (state[0] + word) | 0;
  return finish(state);
}

/** The hash of bytes, such as a text in UTF-8. */
export function hashBytes(bytes: Buffer): bigint {
  const state = start(bytes.length);
  const whole = bytes.length - (bytes.length % 12);
  const add = (at: number, third: number): void => {
    state[0] = (state[0] + wordAt(bytes, at)) | 0;
    state[1] = (state[1] + wordAt(bytes, at + 4)) | 0;
    state[2] = (state[2] + third) | 0;
  };
  for (let at = 0; at < whole; at += 12) {
    add(at, wordAt(bytes, at + 8));
    mix(state);
  }
  // The lowest byte of the third word is that of the length.
  add(whole, wordAt(bytes, whole + 8, 3) << 8);
  return finish(state);
}

const rotated = (word: number, by: number): number => (word << by) | (word >>> (32 - by));

function start(length: number): State {
  const word = (0x9e3779b9 + length + 3_923_095) | 0;
  return [word, word, word];
}

function mix(state: State): void {
  for (const [x, y, z, by] of MIX) {
    state[x] = ((state[x] - state[y]) ^ rotated(state[y], by)) | 0;
    state[y] = (state[y] + state[z]) | 0;
  }
}

function finish(state: State): bigint {
  for (const [x, y, by] of FINISH) state[x] = ((state[x] ^ state[y]) - rotated(state[y], by)) | 0;
  return (BigInt(state[1] >>> 0) << 32n) | BigInt(state[2] >>> 0);
}

/** Up to four bytes from `at` on as a little-endian word. */
function wordAt(bytes: Buffer, at: number, length = 4): number {
  let sum = 0;
  for (let index = Math.min(at + length, bytes.length) - 1; index >= at; index -= 1) sum = (sum << 8) | bytes[index]!;
  return sum;
}
