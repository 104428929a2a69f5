"""Runs the conformance suite against libraries: `python -m conformance --driver 'python: python driver.py'`."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
import time

from .postgres import Server
from .suite import Suite, controls

# A wrong variant may wait for what never happens, in seconds.
_CONTROL_LIMIT = 6
# So many libraries run at the same time for each processor, so that a busy machine does not keep each from its work.
_LIBRARIES_PER_PROCESSOR = 3
# So many wrong variants run at the same time.
_PARALLEL_CONTROLS = 4


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--driver", action="append", default=[], metavar="NAME: COMMAND")
    parser.add_argument("--no-shadow", action="append", default=[], metavar="NAME", help="it has no shadow mode")
    parser.add_argument("--controls", metavar="COMMAND", help="a driver with --wrong: each wrong variant must fail")
    parser.add_argument("--only", action="append", help="only this check or scenario; may be given several times")
    parser.add_argument(
        "--full", action="store_true", help="with maps of a million entries, one library after the other"
    )
    return parser.parse_args()


async def _run_suites(suites: list[Suite], *, in_turn: bool) -> list[str]:
    if in_turn:
        for suite in suites:
            await suite.run()
    else:
        slots = asyncio.Semaphore(_LIBRARIES_PER_PROCESSOR * (os.cpu_count() or 1))

        async def run(suite: Suite) -> None:
            async with slots:
                await suite.run()

        await asyncio.gather(*(run(suite) for suite in suites))
    for suite in suites:
        print(f"{suite.name}: {len(suite.passed)} passed, {len(suite.failures)} failed")
    failures = [f"{suite.name}: {name}: {why}" for suite in suites for name, why in suite.failures.items()]
    return failures + [f"{suite.name}: no check was run" for suite in suites if not suite.passed and not suite.failures]


async def _run_controls(command: str | None, server: Server) -> list[str]:
    """Returns the wrong variants that a check has not found."""
    if command is None:
        return []
    slots = asyncio.Semaphore(_PARALLEL_CONTROLS)

    async def run(name: str, expected: list[str]) -> list[str]:
        async with slots:
            suite = Suite(name, f"{command} --wrong {name}", server, only=expected, step_limit=_CONTROL_LIMIT)
            await suite.run(is_loud=False)
        return [f"{name}: {check} did not find it" for check in expected if check not in suite.failures]

    found = await asyncio.gather(*(run(name, expected) for name, expected in controls().items()))
    print(f"controls: {sum(not missed for missed in found)} of {len(found)} wrong variants were found")
    return [missed for several in found for missed in several]


async def _run(arguments: argparse.Namespace) -> int:
    task, begun = asyncio.current_task(), time.monotonic()
    if task is not None:
        # The server and the drivers are stopped too.
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    server = Server()
    try:
        await asyncio.to_thread(server.start)
        drivers = [driver.partition(":") for driver in arguments.driver]
        suites = [
            Suite(name.strip(), command, server, only=arguments.only, full=arguments.full)
            for name, _, command in drivers
        ]
        for suite in suites:
            suite.has_shadow = suite.name.partition("/")[0] not in arguments.no_shadow
        controls_run = asyncio.create_task(_run_controls(arguments.controls, server))
        if arguments.full:
            # Figures are measured alone.
            await controls_run
        failures = await _run_suites(suites, in_turn=arguments.full) + await controls_run
    finally:
        await asyncio.to_thread(server.stop)
    print("".join(f"FAILED {failure}\n" for failure in failures), end="")
    print(f"conformance: {time.monotonic() - begun:.0f} s")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(_run(_arguments())))
