"""A worker of the Python SDK: `worker.py ADDRESS NAMESPACE TASK_QUEUE`.

It says `ready` when it runs, and ends when its standard input does.
"""

import asyncio
import contextvars
import dataclasses
import json
import sys

import nexusrpc
from nexusrpc.handler import StartOperationContext, service_handler, sync_operation
from temporalio import activity, nexus, workflow
from temporalio.client import Client
from temporalio.exceptions import ApplicationError
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput, Interceptor, Worker

caller: contextvars.ContextVar[dict] = contextvars.ContextVar("caller")


class CallerInterceptor(Interceptor):
    """Reads the run, session and turn of the call from its header."""

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:
        class Inbound(ActivityInboundInterceptor):
            async def execute_activity(self, input: ExecuteActivityInput):
                if header := input.headers.get("temporal-agents-call"):
                    caller.set(json.loads(header.data))
                return await super().execute_activity(input)

        return Inbound(next)


@activity.defn
async def who_calls(arguments: dict) -> dict:
    return caller.get() | {"arguments": arguments}


@activity.defn
async def issue_refund(arguments: dict) -> str:
    return f"refunded {arguments['amount']} for order {arguments['order']}"


@activity.defn
async def look_up(arguments: dict) -> dict:
    return {"order": arguments["order"], "lines": [1, 2.5, None, "ä"]}


@activity.defn
async def forget(arguments: dict) -> None:
    return None


@activity.defn
async def break_down(arguments: dict) -> str:
    raise ValueError("the ledger at 10.0.0.7 is broken")


@activity.defn
async def explain(arguments: dict) -> str:
    raise ApplicationError("closed", "The order is closed.", type="ToolError", non_retryable=True)


@activity.defn
async def dawdle(arguments: dict) -> str:
    await asyncio.sleep(600)
    return "late"


@dataclasses.dataclass
class Session:
    """A session as the ToolRegistry/AgenticSession proposal has it in Python: two lists, in the heartbeat as the text of a JSON object."""

    messages: list[dict] = dataclasses.field(default_factory=list)
    results: list[dict] = dataclasses.field(default_factory=list)

    @classmethod
    def restore(cls) -> "Session":
        details = activity.info().heartbeat_details
        if not details:
            return cls()
        checkpoint = json.loads(details[0])
        assert checkpoint["version"] == 1, checkpoint
        return cls(checkpoint["messages"], checkpoint["results"])

    def checkpoint(self) -> None:
        text = json.dumps({"version": 1, "messages": self.messages, "results": self.results})
        activity.heartbeat(text)


def check_calls(messages: list[dict]) -> None:
    """Refuses what the providers' APIs refuse: a call without its result in the next messages, and a result without its call."""
    due = []
    for message in messages:
        blocks = message["content"] if isinstance(message["content"], list) else []
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        if message["role"] == "tool":
            assert due.pop(0) == message["tool_call_id"], messages
            continue
        assert due == results, messages
        due = [block["id"] for block in blocks if block["type"] == "tool_use"]
        due += [call["id"] for call in message.get("tool_calls", [])]
    assert not due, messages


@activity.defn(name="Desk::work")
async def review(request: str) -> dict:
    """Has come to its second turn, before which it heartbeats; its model takes its time then. Where another attempt has come further, it
    makes the last turn."""
    session = Session.restore()
    if session.messages:
        check_calls(session.messages)
        session.results.append({"file": "b.rs", "line": 7})
        session.checkpoint()
        return {"said": "Both are fine.", "messages": session.messages, "results": session.results}
    session.messages.append({"role": "user", "content": "Review a.rs and b.rs."})
    call = {"type": "tool_use", "id": "toolu_1", "name": "inspect", "input": {"path": "a.rs"}}
    session.messages.append({"role": "assistant", "content": [{"type": "text", "text": "I begin with a.rs."}, call]})
    session.results.append({"file": "a.rs", "line": 3})
    output = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "a.rs is odd"}
    session.messages.append({"role": "user", "content": [output]})
    session.checkpoint()
    await asyncio.sleep(600)
    return {"said": "nothing, here"}


@workflow.defn(name="ship_order")
class ShipOrder:
    @workflow.run
    async def run(self, arguments: dict) -> dict:
        if arguments["order"] == "broken":
            raise ApplicationError("the parcel fell into the sea", type="Lost")
        if arguments["order"] == "closed":
            raise ApplicationError("closed", "The order is closed.", type="ToolError")
        if arguments["order"] == "slow":
            await asyncio.sleep(600)
        return {"shipped": arguments["order"], "id": workflow.info().workflow_id}


@service_handler(name="Freight")
class Freight:
    """Operations that are done at once, one that is a workflow, and each way to fail."""

    @sync_operation
    async def quote(self, ctx: StartOperationContext, arguments: dict) -> dict:
        return {"order": arguments["order"], "lines": [1, 2.5, None, "ä"]}

    @sync_operation
    async def key(self, ctx: StartOperationContext, arguments: dict) -> str:
        return ctx.headers["idempotency-key"]

    @sync_operation
    async def forget(self, ctx: StartOperationContext, arguments: dict) -> None:
        return None

    @sync_operation
    async def sink(self, ctx: StartOperationContext, arguments: dict) -> str:
        raise nexusrpc.OperationError("the ship at 10.0.0.7 has sunk", state=nexusrpc.OperationErrorState.FAILED)

    @sync_operation
    async def withdraw(self, ctx: StartOperationContext, arguments: dict) -> str:
        raise nexusrpc.OperationError("withdrawn", state=nexusrpc.OperationErrorState.CANCELED)

    @sync_operation
    async def refuse(self, ctx: StartOperationContext, arguments: dict) -> str:
        raise nexusrpc.HandlerError("no such port", type=nexusrpc.HandlerErrorType.BAD_REQUEST)

    @sync_operation
    async def explain(self, ctx: StartOperationContext, arguments: dict) -> str:
        raise ApplicationError("closed", "The port is closed.", type="ToolError", non_retryable=True)

    @sync_operation
    async def dawdle(self, ctx: StartOperationContext, arguments: dict) -> str:
        await asyncio.sleep(600)
        return "late"

    @nexus.workflow_run_operation
    async def ship(self, ctx: nexus.WorkflowRunOperationContext, arguments: dict) -> nexus.WorkflowHandle[dict]:
        return await ctx.start_workflow(ShipOrder.run, arguments, id=f"shipment-{arguments['order']}")


async def main(address: str, namespace: str, task_queue: str) -> None:
    client = await Client.connect(address, namespace=namespace)
    activities = [who_calls, issue_refund, look_up, forget, break_down, explain, dawdle, review]
    worker = Worker(
        client,
        task_queue=task_queue,
        activities=activities,
        interceptors=[CallerInterceptor()],
        workflows=[ShipOrder],
        nexus_service_handlers=[Freight()],
    )
    async with worker:
        print("ready", flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
