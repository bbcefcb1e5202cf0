"""A worker of the Python SDK: `worker.py ADDRESS NAMESPACE TASK_QUEUE`.

It says `ready` when it runs, and ends when its standard input does.
"""

import asyncio
import sys

from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.exceptions import ApplicationError
from temporalio.worker import Worker


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


@workflow.defn(name="ship_order")
class ShipOrder:
    @workflow.run
    async def run(self, arguments: dict) -> dict:
        if arguments["order"] == "broken":
            raise ApplicationError("the parcel fell into the sea", type="Lost")
        if arguments["order"] == "slow":
            await asyncio.sleep(600)
        return {"shipped": arguments["order"], "id": workflow.info().workflow_id}


async def main(address: str, namespace: str, task_queue: str) -> None:
    client = await Client.connect(address, namespace=namespace)
    activities = [issue_refund, look_up, forget, break_down, explain, dawdle]
    async with Worker(client, task_queue=task_queue, activities=activities, workflows=[ShipOrder]):
        print("ready", flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
