"""The official clients and the official host of Workflow Streams.

`streams.py ADDRESS NAMESPACE COMMAND ARGUMENT..`: `subscribe WORKFLOW_ID` prints one item per line,
as JSON, and then `end`; `publish WORKFLOW_ID COUNT` publishes, in batches of two, and prints the
offset of the next item; `openai WORKFLOW_ID TOPIC` prints the type of each event and the text in it,
as a subscriber of the OpenAI Agents plugin reads them, and then `end`; `host TASK_QUEUE` is a
worker, which prints `ready` when it runs, and ends when its standard input does.
"""

import asyncio
import json
import os
import sys
from datetime import timedelta

from temporalio import workflow
from temporalio.client import Client
from temporalio.contrib.workflow_streams import WorkflowStream, WorkflowStreamClient, WorkflowStreamState
from temporalio.worker import Worker


@workflow.defn(name="py_channel")
class Channel:
    """Follows signals: `publish N`, `truncate N`, `continue`, `end`."""

    @workflow.init
    def __init__(self, prior: WorkflowStreamState | None = None) -> None:
        self.stream = WorkflowStream(prior_state=prior)
        self.orders: list[list] = []

    @workflow.run
    async def run(self, prior: WorkflowStreamState | None = None) -> str:
        while True:
            await workflow.wait_condition(lambda: bool(self.orders))
            kind, number = self.orders.pop(0)
            if kind == "publish":
                for n in range(number):
                    self.stream.topic("events").publish({"n": n})
            elif kind == "truncate":
                self.stream.truncate(number)
            elif kind == "continue":
                await self.stream.continue_as_new(lambda state: [state])
            else:
                return "ended"

    @workflow.signal
    def order(self, order: list) -> None:
        self.orders.append(order)


async def subscribe(client: Client, workflow_id: str) -> None:
    stream = WorkflowStreamClient.create(client, workflow_id)
    async for item in stream.subscribe():
        print(json.dumps({"offset": item.offset, "topic": item.topic, "data": item.data}), flush=True)
    print("end", flush=True)


async def publish(client: Client, workflow_id: str, count: str) -> None:
    stream = WorkflowStreamClient.create(
        client, workflow_id, batch_interval=timedelta(milliseconds=50), max_batch_size=2
    )
    async with stream:
        for n in range(int(count)):
            stream.topic("python").publish({"n": n})
            await asyncio.sleep(0.02)
    print(await stream.get_offset(), flush=True)


async def openai(client: Client, workflow_id: str, topic: str) -> None:
    from openai.types.responses import ResponseStreamEvent
    from pydantic import TypeAdapter

    events = TypeAdapter(ResponseStreamEvent)
    stream = WorkflowStreamClient.create(client, workflow_id)
    async for item in stream.subscribe([topic]):
        event = events.validate_python(item.data)
        print(json.dumps([event.type, getattr(event, "delta", "")]), flush=True)
    print("end", flush=True)


async def host(client: Client, task_queue: str) -> None:
    async with Worker(client, task_queue=task_queue, workflows=[Channel]):
        print("ready", flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


async def main(address: str, namespace: str, command: str, *arguments: str) -> None:
    client = await Client.connect(address, namespace=namespace)
    await {"subscribe": subscribe, "publish": publish, "openai": openai, "host": host}[command](client, *arguments)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
    # Without the end of the interpreter, at which threads of the SDK sometimes crash.
    os._exit(0)
