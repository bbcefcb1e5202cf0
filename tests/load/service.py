#!/usr/bin/env python3
"""Loads a service: event streams, starts, and clients that disconnect. Prints what it costs.

    python3 tests/load/service.py --mode inprocess [--readers 4000] [--rate 10] [--seconds 300] [--disconnects 1000]

Needs `cargo build -p temporal-agents-examples-service --bin serve` (SERVE names another binary). In mode temporal, the
API is a process of its own beside a worker and a dev server, so that its memory is that of the service alone. Loopback
only; everything is stopped by its pid. Exits with 1 if a request failed that should not, or the service cannot write
afterwards.
"""
import argparse
import asyncio
import collections
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time

SERVE = os.environ.get("SERVE", os.path.join(os.environ.get("CARGO_TARGET_DIR", "target"), "debug", "serve"))
MAX_FILES = 20_000


class Process:
    """A program that prints READY."""

    def __init__(self, *args):
        clean = {k: v for k, v in os.environ.items() if not k.startswith("TEMPORAL_") or k == "TEMPORAL_CLI"}
        for name in ("AGENTS_TOKEN", "AGENT_RUNNER_MODE", "DATABASE_URL", "REDIS_URL"):
            clean.pop(name, None)
        clean["TEMPORAL_CONFIG_FILE"] = "/dev/null"
        self.child = subprocess.Popen([SERVE, *args], stdout=subprocess.PIPE, env=clean, text=True)
        self.temporal = None
        for line in self.child.stdout:
            if line.startswith("TEMPORAL "):
                self.temporal = line.split()[1]
            if line.startswith("READY"):
                self.address = line.split()[1].removeprefix("http://") if " " in line else None
                return
        raise SystemExit("serve has ended before it was ready")

    def memory(self):
        """Resident memory in MB."""
        with open(f"/proc/{self.child.pid}/status") as status:
            return next(int(line.split()[1]) // 1024 for line in status if line.startswith("VmRSS"))

    def files(self):
        return len(os.listdir(f"/proc/{self.child.pid}/fd"))

    def stop(self):
        self.child.send_signal(signal.SIGTERM)
        try:
            self.child.wait(30)
        except subprocess.TimeoutExpired:
            self.child.kill()


class Load:
    def __init__(self, service):
        self.service = service
        self.host, port = service.address.rsplit(":", 1)
        self.port = int(port)
        self.statuses = collections.Counter()
        self.errors = collections.Counter()
        self.open_streams = self.events = self.ended = 0
        self.taken = []

    def message(self, method, path, body=None):
        data = json.dumps(body).encode() if body is not None else b""
        kind = "Content-Type: application/json\r\n" if method == "POST" else ""
        head = f"{method} {path} HTTP/1.1\r\nHost: {self.service.address}\r\nConnection: close\r\n{kind}"
        return (head + f"Content-Length: {len(data)}\r\n\r\n").encode() + data

    async def request(self, method, path, body=None):
        """Sends a request; returns the status and the JSON of the answer."""
        reader, writer = await asyncio.open_connection(self.host, self.port)
        try:
            writer.write(self.message(method, path, body))
            answer = await asyncio.wait_for(reader.read(), 70)
        finally:
            writer.close()
        head, _, rest = answer.partition(b"\r\n\r\n")
        status = int(head.split()[1])
        self.statuses[status] += 1
        return status, json.loads(rest) if rest and b"chunked" not in head else None

    async def follow(self, run, forever=False):
        """Reads the events of a run to their end."""
        reader, writer = await asyncio.open_connection(self.host, self.port, limit=1 << 22)
        try:
            writer.write(self.message("GET", f"/runs/{run}/events"))
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 70)
            status = int(head.split()[1])
            self.statuses[status] += 1
            if status != 200:
                return
            self.open_streams += 1
            try:
                while line := await (reader.readline() if forever else asyncio.wait_for(reader.readline(), 120)):
                    self.events += line.startswith(b"data: ")
            finally:
                self.open_streams -= 1
        finally:
            writer.close()

    async def one_run(self, number):
        begun = time.monotonic()
        try:
            if number % 3 == 2:
                thread = {"threadId": f"thread-{number}", "runId": "r", "messages": [
                    {"id": "m", "role": "user", "content": "What is the weather in Oslo?"}]}
                await self.request("POST", "/agui/desk", thread)
            else:
                status, started = await self.request("POST", "/runs", {"agent": "desk", "input": "The weather in Oslo?"})
                if status != 201:
                    return
                await self.follow(started["id"])
            self.ended += 1
            self.taken.append(time.monotonic() - begun)
        except Exception as error:
            self.errors[repr(error)[:90]] += 1

    async def quietly(self, work):
        try:
            await work
        except asyncio.CancelledError:
            raise
        except Exception as error:
            self.errors[repr(error)[:90]] += 1

    def show(self, begun):
        taken = sorted(self.taken)
        self.taken.clear()
        at = lambda share: f"{taken[int(len(taken) * share)]:.2f}" if taken else "-"
        bad = {status: count for status, count in self.statuses.items() if status >= 400}
        print(f"{time.monotonic() - begun:5.0f} s  runs {self.ended:5}  p50 {at(0.5)} s  p99 {at(0.99)} s  streams "
              f"{self.open_streams}  events {self.events}  memory {self.service.memory()} MB  files "
              f"{self.service.files()}  refused {bad}  errors {dict(self.errors)}", flush=True)

    async def waiting(self, count):
        """Starts runs that wait for approval, which the readers follow."""
        runs = []
        for number in range(count):
            _, started = await self.request("POST", "/runs", {"agent": "clerk", "input": "I want a refund.",
                                                              "id": f"waits-{number}"})
            runs.append(started["id"])
        return runs

    async def disconnect(self, run, times):
        """Leaves in the middle of each kind of request, `times` times each."""
        kinds = {
            "GET /runs": lambda n: self.message("GET", "/runs"),
            "GET /runs/{id}": lambda n: self.message("GET", f"/runs/{run}"),
            "GET /questions": lambda n: self.message("GET", "/questions"),
            "GET events": lambda n: self.message("GET", f"/runs/{run}/events"),
            "GET timeline": lambda n: self.message("GET", f"/runs/{run}/timeline.svg"),
            "POST /runs": lambda n: self.message("POST", "/runs", {"agent": "desk", "input": "Hi.", "id": f"left-{n}"}),
            "POST decisions": lambda n: self.message("POST", f"/runs/{run}/decisions",
                                                     {"question_id": "nothing", "approved": True}),
            "POST /agui": lambda n: self.message("POST", "/agui/desk", {
                "threadId": f"left-{n}", "runId": "r", "messages": [{"id": "m", "role": "user", "content": "Hi."}]}),
        }
        for kind, message in kinds.items():
            async def leave(number):
                reader, writer = await asyncio.open_connection(self.host, self.port)
                writer.write(message(number))
                await asyncio.sleep(random.random() * 0.05)
                writer.transport.abort()
            begun = time.monotonic()
            for first in range(0, times, 20):
                await asyncio.gather(*(self.quietly(leave(number)) for number in range(first, first + 20)))
            written = time.monotonic()
            status, _ = await self.request("POST", "/runs", {"agent": "desk", "input": "Hi."})
            print(f"{times} clients left {kind!r} in {written - begun:.0f} s; the next start: {status} after "
                  f"{time.monotonic() - written:.2f} s", flush=True)


async def play(load, options):
    run, *others = await load.waiting(min(40, max(1, options.readers)))
    await asyncio.sleep(5)
    begun = time.monotonic()
    before = (load.service.memory(), load.service.files())
    print(f"before: memory {before[0]} MB, files {before[1]}", flush=True)
    readers = []
    for number in range(options.readers):
        followed = [run, *others][number % (len(others) + 1)]
        readers.append(asyncio.create_task(load.quietly(load.follow(followed, forever=True))))
        if number % 50 == 49:
            await asyncio.sleep(0.1)
    runs, number, shown, middle = set(), 0, 0.0, None
    started = time.monotonic()
    while (passed := time.monotonic() - started) < options.seconds:
        while number < passed * options.rate:
            task = asyncio.create_task(load.one_run(number))
            runs.add(task)
            task.add_done_callback(runs.discard)
            number += 1
        if middle is None and passed >= options.seconds / 2:
            middle = load.service.memory()
        if passed - shown >= 30:
            shown = passed
            load.show(begun)
        await asyncio.sleep(0.02)
    last = load.service.memory()
    await asyncio.gather(*runs)
    load.show(begun)
    if middle:
        print(f"memory in the second half: {middle} -> {last} MB, {100 * (last - middle) / middle:+.1f} %", flush=True)
    for reader in readers:
        reader.cancel()
    await asyncio.gather(*readers, return_exceptions=True)
    bad = sum(count for status, count in load.statuses.items() if status >= 500) + sum(load.errors.values())
    if options.disconnects:
        await load.disconnect(run, options.disconnects)
    for _ in range(60):
        await asyncio.sleep(1)
        if load.service.files() <= before[1] + 12:
            break
    print(f"after: memory {load.service.memory()} MB, files {load.service.files()} (before: {before[1]})")
    usable = [await load.request("POST", "/runs", {"agent": "desk", "input": "Hi."}) for _ in range(20)]
    written = sum(status == 201 for status, _ in usable)
    print(f"unexpected answers and errors under load: {bad}; starts afterwards: {written} of 20")
    return bad == 0 and written == 20


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mode", choices=("inprocess", "temporal"), default="inprocess")
    parser.add_argument("--database", help="URL of the database in mode inprocess; default: a file of SQLite")
    parser.add_argument("--readers", type=int, default=4000)
    parser.add_argument("--rate", type=float, default=10, help="runs that are started each second")
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--disconnects", type=int, default=1000, help="clients that leave, for each kind of request")
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_NOFILE, (MAX_FILES, MAX_FILES))
    processes = []
    with tempfile.TemporaryDirectory() as directory:
        try:
            if options.mode == "inprocess":
                database = options.database or f"sqlite:{directory}/agents.db"
                processes.append(Process("--mode", "inprocess", "--database", database))
            else:
                processes.append(Process())
                processes.append(Process("--api-only", "--address", processes[0].temporal))
            succeeded = asyncio.run(play(Load(processes[-1]), options))
        finally:
            for process in reversed(processes):
                process.stop()
    sys.exit(0 if succeeded else 1)


main()
