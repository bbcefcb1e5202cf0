"""The freight company: a Nexus service of another team, in another language.

`handler.py ADDRESS NAMESPACE TASK_QUEUE` says `ready` when it runs, and ends when its standard input does.
"""

import asyncio
import sys

import nexusrpc
from nexusrpc.handler import StartOperationContext, service_handler, sync_operation
from temporalio import nexus, workflow
from temporalio.client import Client
from temporalio.worker import Worker


@workflow.defn(name="carry_freight")
class CarryFreight:
    """Takes as long as it takes; whoever has asked for it waits durably."""

    @workflow.run
    async def run(self, freight: dict) -> dict:
        await workflow.sleep(1)
        return {"to": freight["to"], "pallets": freight["pallets"], "waybill": workflow.info().workflow_id}


@service_handler(name="Freight")
class Freight:
    @sync_operation
    async def quote(self, ctx: StartOperationContext, freight: dict) -> dict:
        """Done at once."""
        euros = {"Oslo": 80, "Narvik": 140}.get(freight["to"])
        if euros is None:
            raise nexusrpc.OperationError("no lorry goes there", state=nexusrpc.OperationErrorState.FAILED)
        return {"euros": euros * freight["pallets"]}

    @nexus.workflow_run_operation
    async def carry(self, ctx: nexus.WorkflowRunOperationContext, freight: dict) -> nexus.WorkflowHandle[dict]:
        """Done by a workflow. The key names the call, whatever happens: a call that comes twice is one waybill."""
        key = ctx.headers["idempotency-key"]
        return await ctx.start_workflow(CarryFreight.run, freight, id=f"waybill-{key}")


async def main(address: str, namespace: str, task_queue: str) -> None:
    client = await Client.connect(address, namespace=namespace)
    worker = Worker(client, task_queue=task_queue, workflows=[CarryFreight], nexus_service_handlers=[Freight()])
    async with worker:
        print("ready", flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
