"""The streaming of Temporal's plugin for the OpenAI Agents SDK, for `bench-peer stream`.

`stream_bench.py worker ADDRESS TASK_QUEUE` prints `ready` when it runs. `stream_bench.py reader
ADDRESS TASK_QUEUE` prints `ready`; for each line with the work of a run it starts a run, and prints
the milliseconds from the request that starts it to the first text. Both end when their standard
input does. All settings are the plugin's defaults, without the export of traces.
"""

import asyncio
import json
import os
import sys
import time
from datetime import timedelta

from temporalio import workflow
from temporalio.client import Client
from temporalio.contrib.workflow_streams import WorkflowStream, WorkflowStreamClient
from temporalio.worker import Worker

with workflow.unsafe.imports_passed_through():
    from agents import Agent, Model, ModelProvider, Runner
    from openai.types.responses import (
        Response,
        ResponseCompletedEvent,
        ResponseOutputMessage,
        ResponseOutputText,
        ResponseTextDeltaEvent,
        ResponseUsage,
    )
    from openai.types.responses.response_usage import InputTokensDetails, OutputTokensDetails
    from temporalio.openai_agents import ModelActivityParameters, OpenAIAgentsPlugin

TOPIC = "events"
CHUNK = "0000000000000000 "


class ScriptedModel(Model):
    """Sends the chunks that the user's message orders."""

    async def get_response(self, *args, **kwargs):
        raise NotImplementedError

    async def stream_response(self, system_instructions, input, *args, **kwargs):
        message = input if isinstance(input, str) else input[0]["content"]
        work = json.loads(message)
        for number in range(work["chunks"]):
            await asyncio.sleep((work["pause_ms"] if number else work["first_pause_ms"]) / 1000)
            yield ResponseTextDeltaEvent(
                type="response.output_text.delta",
                item_id="msg_0000",
                output_index=0,
                content_index=0,
                delta=CHUNK,
                logprobs=[],
                sequence_number=number,
            )
        text = ResponseOutputText(type="output_text", annotations=[], text=CHUNK * work["chunks"])
        item = ResponseOutputMessage(
            type="message", id="msg_0000", role="assistant", status="completed", content=[text]
        )
        usage = ResponseUsage(
            input_tokens=100,
            output_tokens=20,
            total_tokens=120,
            input_tokens_details=InputTokensDetails.model_construct(cached_tokens=0, cache_write_tokens=0),
            output_tokens_details=OutputTokensDetails(reasoning_tokens=0),
        )
        response = Response(
            id="resp_0000",
            created_at=0,
            model="scripted",
            object="response",
            output=[item],
            parallel_tool_calls=False,
            tool_choice="auto",
            tools=[],
            usage=usage,
        )
        yield ResponseCompletedEvent(
            type="response.completed", response=response, sequence_number=work["chunks"]
        )


class ScriptedProvider(ModelProvider):
    def get_model(self, model_name):
        return ScriptedModel()


@workflow.defn(name="py_stream_bench")
class StreamBench:
    @workflow.init
    def __init__(self, work: dict) -> None:
        self.stream = WorkflowStream()

    @workflow.run
    async def run(self, work: dict) -> str:
        agent = Agent(name="assistant", model="scripted", instructions="You answer briefly.")
        result = Runner.run_streamed(agent, json.dumps(work))
        async for _ in result.stream_events():
            pass
        return result.final_output


async def worker(client: Client, task_queue: str) -> None:
    async with Worker(client, task_queue=task_queue, workflows=[StreamBench]):
        print("ready", flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


async def first_text(client: Client, task_queue: str, workflow_id: str, work: dict) -> float:
    began = time.perf_counter()
    handle = await client.start_workflow("py_stream_bench", work, id=workflow_id, task_queue=task_queue)
    took = None
    async for item in WorkflowStreamClient.create(client, workflow_id).subscribe(TOPIC):
        if item.data["type"] == "response.output_text.delta":
            took = time.perf_counter() - began
            break
    output = await handle.result()
    assert output == CHUNK * work["chunks"], output
    assert took is not None, "no text was published"
    return took * 1000


async def reader(client: Client, task_queue: str) -> None:
    print("ready", flush=True)
    loop, number = asyncio.get_running_loop(), 0
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        number += 1
        print(await first_text(client, task_queue, f"py-stream-{number}", json.loads(line)), flush=True)


async def main(command: str, address: str, task_queue: str) -> None:
    parameters = ModelActivityParameters(
        start_to_close_timeout=timedelta(minutes=1), heartbeat_timeout=timedelta(seconds=30), streaming_topic=TOPIC
    )
    plugin = OpenAIAgentsPlugin(model_params=parameters, model_provider=ScriptedProvider())
    client = await Client.connect(address, plugins=[plugin])
    await {"worker": worker, "reader": reader}[command](client, task_queue)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
    # Without the end of the interpreter, at which threads of the SDK sometimes crash.
    os._exit(0)
