"""Everything that there is, once: each tool, prompt and resource, with what it has to say."""

import contextlib
import json
import os
import pathlib
import shutil
import subprocess

from common import check, content, environment, failure, same, workflow
from mcp.types import ResourceTemplateReference

BINARY = os.environ["MILEPOST_BINARY"]
DOCUMENT = pathlib.Path(__file__).parent.parent / "shop.yaml"
GETS = """\
workflow: gets
title: Gets
inputs:
  order: {type: string, provider: shop orders:list}
  note: {type: string, optional: true, default: {from: history}}
steps:
  - {id: look, run: shop orders:get, with: {order_id: "${{ inputs.order }}"}}
final_output: {item: "${{ steps.look.output.item }}"}
"""


@contextlib.contextmanager
def mocked(home):
    """An API that answers: where it is."""
    shutil.copy(DOCUMENT, home)
    command = [BINARY, "catalog", "mock", "--json", "--port", "0", "shop.yaml"]
    process = subprocess.Popen(
        command, cwd=home, env=environment(home), stdout=subprocess.PIPE, text=True
    )
    try:
        yield json.loads(process.stdout.readline())["url"]
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


class Calls:
    """Calls of tools that succeed."""

    def __init__(self, client):
        self.client = client

    async def __call__(self, name, **arguments):
        return content(await self.client.call_tool(name, arguments))


async def catalogs(call, yes):
    valid = await call("catalog_validate_openapi", source="shop.yaml")
    same((valid["valid"], valid["operation_count"]), (True, 3))
    plan = await call("catalog_preview_import", source="shop.yaml", catalog_title="Shop")
    same((plan["valid"], plan["projected_command_count"]), (True, 3))
    imported = await call("catalog_import_openapi", source="shop.yaml", catalog_title="Shop")
    same((imported["catalog_id"], imported["command_count"]), ("shop", 3))
    for enabled, count in [(False, 0), (True, 3)]:
        toggled = await call("catalog_set_enabled", catalog_id="shop", enabled=enabled)
        same((toggled["enabled"], toggled["command_count_after_toggle"]), (enabled, count))
    yes()
    run = await call("catalog_remove", catalog_id="shop", remove_manifest=True)
    removed = run["final_output"]
    same((removed["removed_catalog_id"], removed["manifest_removed"]), ("shop", True))


async def commands(call):
    found = await call("command_list", query="get an order")
    same(found["commands"][0]["command"], "shop orders:get")
    one = await call("command_get", command="shop orders:get")
    same((one["method"], one["path"]), ("GET", "/orders/{order_id}"))
    order = {"order_id": "7"}
    dry = await call("command_run", command="shop orders:get", **{"with": order}, dry_run=True)
    check(dry["request"]["url"].endswith("/orders/7"), dry)
    same((await call("command_run", command="shop orders:list"))["ok"], True)
    providers = (await call("provider_list"))["providers"]
    check(any(one["provider"] == "shop orders:list" for one in providers), providers)
    found = await call("provider_values", provider="shop orders:list")
    return found["choices"][0]["value"]


async def workflows(client, call, order, yes):
    same((await call("workflow_validate", manifest=GETS))["valid"], True)
    gets = {"workflow_id": "gets"}
    same((await call("workflow_save", content=GETS))["workflow_id"], "gets")
    listed = (await call("workflow_list"))["workflows"]
    check(any(one["workflow_id"] == "gets" for one in listed), listed)
    same((await call("workflow_get", **gets))["content"], GETS)
    same((await call("workflow_preview_inputs", **gets))["required_missing"], ["order"])
    opened = await call("workflow_resolve_inputs", **gets)
    same((opened["ready"], opened["providers"]["order"]["choices"][0]["value"]), (False, order))
    found = await call("provider_values", **gets, input="order")
    same(found["choices"][0]["value"], order)
    inputs = {"order": order, "note": "n"}
    rendered = await call("workflow_preview_rendered", **gets, inputs=inputs)
    check(rendered["steps"][0]["requests"][0]["url"].endswith(f"/orders/{order}"), rendered)
    same((await call("workflow_step_plan", **gets, inputs=inputs))["steps"][0]["id"], "look")
    same((await call("workflow_run", **gets, inputs=inputs, dry_run=True))["status"], "dry_run")
    renamed = await call("workflow_rename", **gets, new_id="fetches")
    same(renamed["workflow_id"], "fetches")
    fetches = {"workflow_id": "fetches"}
    run = await call("workflow_run", **fetches, inputs=inputs, wait_s=20)
    same(run["status"], "succeeded")
    seen = await call("workflow_status", run_id=run["run_id"])
    same(seen["final_output"], run["final_output"])
    yes()
    purged = await call("workflow_purge_history", **fetches)
    same(purged["final_output"]["removed"], 1)
    failed = await call("workflow_run", manifest=workflow("fails"), wait_s=20)
    plan = await call(failed["next"]["tool"], **failed["next"]["arguments"])
    same(len(plan["plan"]), 1)
    again = await call(plan["next"]["tool"], **plan["next"]["arguments"])
    same(again["run"]["status"], "failed")
    asks = await call("workflow_run", manifest=workflow("asks"), wait_s=20)
    same(asks["next"]["tool"], "workflow_submit")
    # An agent may stop what an agent started.
    canceled = await call("workflow_cancel", operation_id=asks["run_id"])
    same(canceled["status"], "canceled")
    yes()
    await call("workflow_delete", **fetches)
    failure(await client.call_tool("workflow_get", fetches), "WORKFLOW_NOT_FOUND")
    return run["run_id"]


async def resources(client, run):
    known = {
        "milepost://workflow/spec": "workflow:",
        "milepost://workflow/schema": "steps",
        "milepost://workflow/manifests": "bug-investigation",
        "milepost://workflow/manifest/bug-investigation": "bug-investigation",
        "milepost://command/catalog": "shop orders:get",
        "milepost://command/catalog/shop": "shop orders:get",
        "milepost://provider/catalog": "shop orders:list",
        f"milepost://run/{run}": "succeeded",
        f"milepost://run/{run}/step/look/output": "item",
        "milepost://docs/guides": "guide",
    }
    for uri, words in known.items():
        text = (await client.read_resource(uri)).contents[0].text
        check(words in text, f"{uri}: {text}")
    for listed in (await client.list_resources()).resources:
        uri = str(listed.uri)
        check(uri in known or "/docs/" in uri, f"{uri} is never read")
    same(len((await client.list_resource_templates()).resource_templates), 5)
    template = "milepost://workflow/manifest/{workflow_id}"
    found = await client.complete(
        ResourceTemplateReference(type="ref/resource", uri=template),
        {"name": "workflow_id", "value": "bug"},
    )
    same(found.completion.values, ["bug-investigation"])


async def prompts(client):
    given = {
        "workflow.author": {"goal": "find lost orders"},
        "workflow.extend": {"manifest": GETS, "changes": "add a second look"},
        "workflow.fix_validation": {"manifest": GETS, "errors": "there is no step `b`"},
        "workflow.run_with_inputs": {"manifest": GETS, "inputs": '{"order": "7"}'},
    }
    listed = [prompt.name for prompt in (await client.list_prompts()).prompts]
    for name in (name for name in listed if name.startswith("workflow.")):
        text = (await client.get_prompt(name, given[name])).messages[0].content.text
        check(all(words in text for words in given[name].values()), name)


async def everything_once(client, home, yes):
    """`yes` lets the person behind the client say it."""
    call = Calls(client)
    with mocked(home) as url:
        await catalogs(call, yes)
        # The address of an API is for a person to say.
        words = ["catalog", "import", "shop.yaml", "--overwrite", "--base-url", url]
        subprocess.run(
            [BINARY, *words], cwd=home, env=environment(home), check=True, capture_output=True
        )
        order = await commands(call)
        run = await workflows(client, call, order, yes)
        await resources(client, run)
        await prompts(client)
        yes()
        await call("catalog_remove", catalog_id="shop", remove_manifest=True)
