"""A server of the official Python package, over stdio, or over streamable HTTP with `--http PORT` (0: any; it prints the one it has).

Over HTTP it ends when its standard input does, so that it never outlives the test that started it.
"""

import asyncio
import os
import pathlib
import socket
import sys
import threading
import time

from mcp.server.mcpserver import Context, Image, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult, TextContent, ToolAnnotations
from pydantic import BaseModel

server = MCPServer("workshop")


class Weather(BaseModel):
    city: str
    degrees: int


@server.tool()
def add(a: int, b: int) -> str:
    """Adds two numbers."""
    return str(a + b)


@server.tool()
def weather(city: str) -> Weather:
    """The weather in a city."""
    return Weather(city=city, degrees=12)


@server.tool()
def poem() -> list[str]:
    """Two lines."""
    return ["one", "two"]


@server.tool()
def picture() -> list:
    """A picture and what it shows."""
    return ["a dot", Image(data=b"hi", format="png")]


@server.tool()
def broken() -> str:
    """Does not work."""
    raise ToolError("the saw is blunt")


def token_of(ctx: Context) -> str:
    """What the server was given to know its client by: a header, a variable, or an argument after `--token`."""
    argument = sys.argv[2] if sys.argv[1:2] == ["--token"] else "nothing"
    return (ctx.headers or {}).get("authorization", os.environ.get("WORKSHOP_TOKEN", argument))


@server.tool()
def backwards(ctx: Context) -> str:
    """What the server was given to know its client by, backwards."""
    return token_of(ctx)[::-1]


@server.tool()
def quote(ctx: Context, aloud: bool) -> str:
    """The same, forwards; or complains of it."""
    token = token_of(ctx)
    if aloud:
        raise ToolError(f"no use for {token}")
    return f"I was given {token}."


@server.tool()
def seen_meta(ctx: Context) -> str:
    """What came as _meta."""
    return str((ctx.request_context.meta or {}).get("trace", "nothing"))


@server.tool()
def search_cards() -> CallToolResult:
    """Finds something, with data beside it."""
    card = {"kind": "card", "audience": "timeline", "data": {"title": "plane"}}
    bounds = {"returned": 1, "total": 9, "truncated": True, "next_cursor": "c2"}
    beside = {"temporal-agents/side-data": {"server_data": [card], "bounds": bounds}}
    return CallToolResult(content=[TextContent(type="text", text="found")], _meta=beside)


def hold(file: str) -> str:
    path = pathlib.Path(file)
    if path.exists():
        return "recovered"
    path.with_suffix(".new").write_text(str(os.getpid()))
    path.with_suffix(".new").rename(path)
    time.sleep(60)
    return "nobody came"


@server.tool()
def hang(file: str) -> str:
    """Hangs the first time, and writes its process id to this file."""
    return hold(file)


@server.tool(annotations=ToolAnnotations(destructive_hint=True))
def hang_once(file: str) -> str:
    """The same, and says that it destroys something."""
    return hold(file)


@server.tool()
def learn(name: str) -> str:
    """Has one more tool from now on."""

    def learnt() -> str:
        return "I can"

    server.add_tool(learnt, name=name, description="Learnt.")
    return "learnt"


@server.tool()
def forget(name: str) -> str:
    """Has one tool less from now on."""
    server.remove_tool(name)
    return "forgotten"


@server.tool()
def pid() -> str:
    """The process of the server."""
    return str(os.getpid())


@server.tool()
def note_pid(file: str) -> str:
    """Writes the process of the server into this file."""
    path = pathlib.Path(file)
    path.with_suffix(".new").write_text(str(os.getpid()))
    path.with_suffix(".new").rename(path)
    return "noted"


class State:
    count = 0
    user = "nobody"


@server.tool()
def count() -> str:
    """How often this was called, and for whom; a server over stdio has one client, so that this is its session."""
    State.count += 1
    return f"{State.count} for {State.user}"


@server.tool()
def login(user: str, password: str) -> str:
    """Says who the client is."""
    if password != os.environ.get("WORKSHOP_PASSWORD", password):
        raise ToolError(f"{password} is not the password of {user}")
    State.user = user
    return f"hello {user}"


class Quantity(BaseModel):
    quantity: int


class Consent(BaseModel):
    sure: bool


@server.tool()
async def order(ctx: Context, item: str) -> str:
    """Orders something, after two questions."""
    wanted = await ctx.elicit(f"How many {item}?", Quantity)
    if wanted.action != "accept":
        return f"no {item}: {wanted.action}"
    consent = await ctx.elicit(f"Sure about {wanted.data.quantity}?", Consent)
    if consent.action != "accept" or not consent.data.sure:
        return f"no {wanted.data.quantity} {item}: {consent.action}"
    return f"{wanted.data.quantity} {item} ordered"


@server.prompt()
def greeting(name: str) -> str:
    """Greets."""
    return f"Say hello to {name}."


@server.resource("rules://house", mime_type="text/plain")
def rules() -> str:
    """The rules of the house."""
    return "Sweep."


@server.resource("rules://room/{room}")
def rules_of(room: str) -> str:
    """The rules of a room."""
    return f"Knock at {room}."


def end_with_stdin() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


async def serve(port: int) -> None:
    import uvicorn

    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    config = uvicorn.Config(server.streamable_http_app(), log_level="error")
    threading.Thread(target=end_with_stdin, daemon=True).start()
    print(listener.getsockname()[1], flush=True)
    await uvicorn.Server(config).serve(sockets=[listener])


if sys.argv[1:2] == ["--http"]:
    asyncio.run(serve(int(sys.argv[2])))
else:
    server.run()
