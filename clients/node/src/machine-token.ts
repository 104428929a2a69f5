/**
 * The token of a controller on this machine, which `shardwright serve` creates at its first start.
 *
 * Only the user who started the controller may read the file, so programs of the same account find it without
 * configuration. It is sent only over loopback, and only to a program of the same account or of root: while the
 * controller is down, another account could listen on its port.
 */

import { access, constants, readFile } from "node:fs/promises";
import { isIPv4 } from "node:net";
import { join } from "node:path";

/** The code of the kernel for a socket that listens. */
const LISTENS = "0A";

/** Returns the file with the token, if it exists and the controller at this address may receive it. */
export async function machineTokenFile(url: URL): Promise<string | undefined> {
  const port = Number(url.port || (url.protocol === "https:" ? 443 : 80));
  if (!isLoopback(url.hostname) || !(await isPortTrusted(port))) return undefined;
  const { XDG_STATE_HOME, HOME } = process.env;
  const folder = XDG_STATE_HOME || (HOME ? join(HOME, ".local/state") : "/var/lib");
  const file = join(folder, "shardwright/token");
  return access(file, constants.R_OK).then(() => file, () => undefined);
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "[::1]" || (isIPv4(host) && host.startsWith("127."));
}

/** Whether programs listen on `port`, and each of them belongs to this account or to root. */
async function isPortTrusted(port: number): Promise<boolean> {
  const read = (name: string): Promise<string> => readFile(`/proc/self/net/${name}`, "ascii").catch(() => "");
  const tables = await Promise.all(["tcp", "tcp6"].map(read));
  const owners = tables.flatMap((table) => listeningAccounts(table, port));
  return owners.length > 0 && owners.every((owner) => owner === process.getuid?.() || owner === 0);
}

/** The accounts whose programs listen on `port`, from a table of the kernel such as `/proc/net/tcp`. */
export function listeningAccounts(table: string, port: number): number[] {
  const lines = table.split("\n").slice(1).map((line) => line.trim().split(/\s+/));
  const listening = lines.filter(([, local, , state]) => {
    return state === LISTENS && Number.parseInt(local?.split(":").at(-1) ?? "", 16) === port;
  });
  return listening.map((fields) => Number(fields[7]));
}
