"""Drives `milepost mcp` with the client of FastMCP and its tasks, as a real client does.

MILEPOST_BINARY names the program; MILEPOST_TRANSPORT=http lets `milepost serve` answer, over HTTP.
Ends with an error at the first surprise.
"""

import asyncio
import contextlib
import json
import os
import tempfile

from common import (
    GOAL,
    HEADERS,
    OVER_HTTP,
    SCHEMA,
    VIA,
    Person,
    check,
    environment,
    same,
    served,
    watch_processes,
    workflow,
)
from fastmcp import Client
from fastmcp.client.elicitation import ElicitResult
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from fastmcp.exceptions import ToolError
from fastmcp_tasks import call_tool_task
from fastmcp_tasks.client_models import CancelTaskRequest, GetTaskRequest, UpdateTaskRequest


async def plain(client):
    tools = await client.list_tools()
    check(len(tools) > 20 and all(tool.output_schema for tool in tools), tools)
    read = await client.read_resource(SCHEMA)
    same(json.loads(read[0].text)["type"], "object")
    prompt = await client.get_prompt("workflow.author", {"goal": GOAL})
    check(GOAL in prompt.messages[0].content.text, prompt)
    checked = await client.call_tool("workflow_validate", {"manifest": workflow("quick")})
    same(checked.structured_content["valid"], True)
    absent = {"workflow_id": "no-such"}
    absent = await client.call_tool("workflow_get", absent, raise_on_error=False)
    same(absent.structured_content["error_code"], "WORKFLOW_NOT_FOUND")


async def tasks(client, person):
    """Tasks that the client drives by itself, and those that somebody holds."""
    for name in ["workflow_execute", "workflow_run"]:
        done = await client.call_tool(name, {"manifest": workflow("quick")})
        same(done.structured_content["final_output"], {"b": 1})
    try:
        await client.call_tool("workflow_execute", {"manifest": workflow("fails")})
        check(False, "a run that fails succeeded")
    except ToolError as error:
        check("no luck" in str(error), error)
    person.answers.append(ElicitResult(action="accept", content={"size": 4}))
    asked = await client.call_tool("workflow_execute", {"manifest": workflow("needs")})
    same(asked.structured_content["final_output"], {"n": 5})

    held = await call_tool_task(client, "workflow_execute", {"manifest": workflow("asks")})
    await held.wait(state="input_required")
    same((await held.status()).status, "input_required")
    step = {"run_id": held.task_id, "step_id": "look", "output": {"seen": True}}
    handed_in = await client.call_tool("workflow_submit", step)
    same(handed_in.structured_content["accepted"], True)
    same((await held.result()).structured_content["final_output"], {"seen": True})
    canceled = await call_tool_task(client, "workflow_execute", {"manifest": workflow("asks")})
    await canceled.cancel()
    same((await canceled.wait(state="cancelled")).status, "cancelled")


@contextlib.contextmanager
def reached(home, started):
    """A transport to a server of its own."""
    if not OVER_HTTP:
        command = os.environ["MILEPOST_BINARY"]
        env = environment(home)
        yield StdioTransport(command=command, args=["mcp"], env=env, keep_alive=False)
        return
    # Of a task, the extension wants its id in the header `Mcp-Name`, and a request without it
    # rejected. The SDK sends the header once it knows the parameter, which this client never says.
    for request in [CancelTaskRequest, GetTaskRequest, UpdateTaskRequest]:
        same(request.name_param, None)
        request.name_param = "taskId"
    with served(home, started) as url:
        yield StreamableHttpTransport(url, headers=HEADERS)


async def main():
    started = watch_processes()
    person = Person()

    async def asked(message, _response_type, _params, _context):
        return person.says(message)

    with (
        tempfile.TemporaryDirectory(prefix="milepost-") as home,
        reached(home, started) as transport,
    ):
        async with asyncio.timeout(60):
            async with Client(transport, elicitation_handler=asked) as client:
                version = client.protocol_version
                await plain(client)
                await tasks(client, person)
    same(version, "2026-07-28")
    same({process.returncode for process in started}, {0})
    print(f"fastmcp at {version} over {VIA}: 6 tasks, {len(person.questions)} question, exit 0")


asyncio.run(main())
