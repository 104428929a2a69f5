/** Parses server-sent events with the fields that the map's feed uses: `event`, `data`, and comments. */

export interface Event {
  readonly name: string;
  readonly data: string;
}

/** Splits a stream of bytes into events. The bytes may arrive in pieces of any size. */
export class EventParser {
  #rest: Buffer[] = [];
  #name = "";
  #data: string[] = [];

  /** Adds bytes, and returns the events that they complete. */
  push(chunk: Buffer): Event[] {
    const complete: Event[] = [];
    let begin = 0;
    // Each byte is copied once, however long a line is: a map of a million keys is one line.
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, begin)) {
      this.#rest.push(chunk.subarray(begin, end));
      this.#processLine(Buffer.concat(this.#rest).toString().replace(/\r$/, ""), complete);
      this.#rest = [];
      begin = end + 1;
    }
    if (begin < chunk.length) this.#rest.push(chunk.subarray(begin));
    return complete;
  }

  #processLine(line: string, complete: Event[]): void {
    if (line === "") {
      if (this.#data.length > 0) complete.push({ name: this.#name, data: this.#data.join("\n") });
      [this.#name, this.#data] = ["", []];
      return;
    }
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (field === "event") this.#name = value;
    else if (field === "data") this.#data.push(value);
  }
}
