"""A provider and a caller of tools, with nothing but a Redis connection: no package is needed."""

import json
import socket
import sys


class Redis:
    """The Redis protocol, as far as it is needed here."""

    def __init__(self, port):
        self.file = socket.create_connection(("127.0.0.1", int(port))).makefile("rwb")

    def __call__(self, *words):
        words = [word if isinstance(word, bytes) else str(word).encode() for word in words]
        self.file.write(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words))
        self.file.flush()
        return self.reply()

    def reply(self):
        line = self.file.readline().rstrip(b"\r\n")
        kind, rest = line[:1], line[1:]
        if kind == b"$":
            return None if rest == b"-1" else self.file.read(int(rest) + 2)[:-2]
        if kind == b"*":
            return None if rest == b"-1" else [self.reply() for _ in range(int(rest))]
        if kind == b"-":
            return RuntimeError(rest.decode())
        return int(rest) if kind == b":" else rest


def key(stream):
    return "pulse:stream:" + stream


def add(redis, stream, event, message):
    redis("XADD", key(stream), "*", "n", event, "p", json.dumps(message))


def entries(reply):
    for _, found in reply or []:
        for entry, fields in found:
            named = dict(zip(fields[::2], fields[1::2]))
            yield entry, named.get(b"n", b"").decode(), named.get(b"p", b"")


def answer(redis, call):
    use, tool, payload = call["tool_use_id"], call["tool"], call.get("payload")
    results = "result:" + use
    if tool == "python.double":
        add(redis, results, "output_delta", {"tool_use_id": use, "stream": "log", "delta": "doubling"})
        return {"tool_use_id": use, "result_json": {"double": payload["number"] * 2}}
    if tool == "python.page":
        bounds = {"Returned": 1, "Total": 9, "Truncated": True, "NextCursor": "c2", "RefinementHint": ""}
        secret = [{"kind": "trace", "audience": "internal", "data": "not for the model"}]
        return {"tool_use_id": use, "result_json": ["a"], "bounds": bounds, "server_data": secret}
    issues = [{"field": "number", "constraint": "invalid_range"}]
    error = {"code": "invalid_arguments", "message": "too large", "issues": issues}
    return {"tool_use_id": use, "error": error}


def serve(redis, calls):
    requests = key("toolset:python:requests")
    redis("XGROUP", "CREATE", requests, "provider", "0", "MKSTREAM")
    print("READY", flush=True)
    while calls:
        reply = redis("XREADGROUP", "GROUP", "provider", "p", "COUNT", 1, "BLOCK", 1000, "STREAMS", requests, ">")
        for entry, event, payload in entries(reply):
            call = json.loads(payload)
            assert event == call["type"] == "call", (event, call)
            assert call["meta"]["tool_call_id"] == call["tool_use_id"], call
            add(redis, "result:" + call["tool_use_id"], "result", answer(redis, call))
            redis("XACK", requests, "provider", entry)
            calls -= 1


def call(redis, tool, payload):
    use = "python-1"
    add(redis, "toolset:demo:requests", "call",
        {"type": "call", "tool_use_id": use, "tool": tool, "payload": json.loads(payload)})
    after = "0-0"
    while True:
        reply = redis("XREAD", "BLOCK", 1000, "STREAMS", key("result:" + use), after)
        for entry, event, message in entries(reply):
            after = entry
            print(event, message.decode(), flush=True)
            if event == "result":
                return


if __name__ == "__main__":
    port, action, *rest = sys.argv[1:]
    serve(Redis(port), int(rest[0])) if action == "serve" else call(Redis(port), *rest)
