"""Records maps of a real controller: `python -m conformance.record PROGRAMS`, the folder with Shardwright's programs.

For each map it keeps the answer to `GET /api/v1/maps/NAME`, the first event of the feed, and the shards that the
controller itself finds for many keys. Run it after a change of the map's JSON, and read the difference.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .maps import FOLDER
from .postgres import Server, _free_port

_SHARDS = ("shard-a", "shard-b", "shard-c")
_RECORDED = FOLDER.parent / "recorded-maps.json"


def main(programs: Path) -> None:
    """Starts shards, a controller and an agent, creates the maps, and writes what the controller answers."""
    server = Server()
    try:
        server.start()
        for shard in _SHARDS:
            server.create(shard)
        with tempfile.TemporaryDirectory(prefix="shardwright-record-") as folder, _Fleet(programs, folder) as fleet:
            for shard in _SHARDS:
                fleet.command(
                    "shard", "add", shard, server.dsn(shard).replace("?sslmode", "?require_auth=none&sslmode")
                )
            for name, wanted in json.loads(_RECORDED.read_text()).items():
                _record(fleet, name, wanted)
    finally:
        server.stop()


class _Fleet:
    """A controller and an agent."""

    def __init__(self, programs: Path, folder: str) -> None:
        # The controller's own PostgreSQL runs under another account.
        Path(folder).chmod(0o755)
        self._programs = programs
        self.url = f"http://127.0.0.1:{_free_port()}"
        listen = self.url.removeprefix("http://")
        agent = ["--name", "recorder", "--controller", self.url, "--spool-dir", f"{folder}/spool"]
        self._commands: list[list[str | Path]] = [
            [programs / "shardwright", "serve", "--open", "--listen", listen, "--data-dir", f"{folder}/store"],
            [programs / "shardwright-agent", *agent],
        ]
        self._log = Path(folder) / "log"
        self._processes: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> _Fleet:
        with self._log.open("ab") as log:
            for command in self._commands:
                self._processes.append(subprocess.Popen(command, stdout=log, stderr=log))
                self._wait_for_controller()
        return self

    def __exit__(self, *_: object) -> None:
        for process in reversed(self._processes):
            process.terminate()
            process.wait()

    def command(self, *arguments: str) -> None:
        """Runs a command."""
        command: list[str | Path] = [self._programs / "shardwright", "--controller", self.url, *arguments]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

    def get(self, path: str, body: bytes | None = None) -> bytes:
        """Returns the answer to a request; with a body, that of POST."""
        request = urllib.request.Request(f"{self.url}{path}", body, {"content-type": "application/json"})
        with urllib.request.urlopen(request, timeout=10) as answer:
            return bytes(answer.read())

    def first_event(self, path: str) -> bytes:
        """Returns the first event of a feed."""
        with urllib.request.urlopen(f"{self.url}{path}", timeout=10) as feed:
            lines = iter(feed.readline, b"\n")
            return b"".join(lines) + b"\n"

    def _wait_for_controller(self) -> None:
        """Waits until the controller leads. `shard add` waits for the agent itself."""
        while True:
            try:
                self.get("/readyz")
                return
            except OSError:
                if self._processes[0].poll() is not None:
                    raise RuntimeError(self._log.read_text()) from None


def _record(fleet: _Fleet, name: str, wanted: dict[str, Any]) -> None:
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(wanted["map"], file)
        file.flush()
        fleet.command("map", "create", name, "--file", file.name)
    path = f"/api/v1/maps/{name}"
    (FOLDER / f"{name}.json").write_bytes(fleet.get(path))
    (FOLDER / f"{name}.event").write_bytes(fleet.first_event(f"{path}/changes"))
    located = [{"key": key, "shard": _locate(fleet, path, key)} for key in _keys(wanted["keys"])]
    lines = ",\n".join(json.dumps(entry, ensure_ascii=False) for entry in located)
    (FOLDER / f"{name}.located.json").write_text(f"[\n{lines}\n]\n")
    print(f"{name}: {len(located)} keys")


def _locate(fleet: _Fleet, path: str, key: Any) -> str | None:
    try:
        return str(json.loads(fleet.get(f"{path}/locate", json.dumps(key).encode()))["shard"])
    except urllib.error.HTTPError as error:
        if json.load(error)["code"] != "key.unmapped":
            raise
        return None


def _keys(wanted: list[Any]) -> Iterator[Any]:
    """Keys; an object with `numbers` stands for all integers of a range, one with `texts` for numbered texts."""
    for key in wanted:
        if isinstance(key, dict) and "numbers" in key:
            yield from range(*key["numbers"])
        elif isinstance(key, dict) and "texts" in key:
            yield from (f"tenant-{number}" for number in range(*key["texts"]))
        else:
            yield key


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
