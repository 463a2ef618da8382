"""What the scripts of all Python clients share."""

import json
import os
import pathlib

import mcp.client.stdio as stdio

WORKFLOWS = pathlib.Path(__file__).parent.parent / "workflows"
SCHEMA = "milepost://workflow/schema"
GOAL = "find orders that nobody paid"


def check(holds, what):
    if not holds:
        raise AssertionError(what)


def same(found, expected):
    check(found == expected, f"{found!r} is not {expected!r}")


def environment(home):
    """What a program of ours sees: nothing of the user who runs the tests."""
    return {"HOME": home, "REGISTRY_CONFIG_PATH": os.path.join(home, "config.toml")}


def workflow(name):
    """The text of a workflow that all clients use."""
    return (WORKFLOWS / f"{name}.yaml").read_text(encoding="utf-8")


def content(result):
    """The content of a result that succeeded; its two forms must be the same."""
    check(not result.is_error, result)
    same(json.loads(result.content[0].text), result.structured_content)
    return result.structured_content


def failure(result, code):
    """The object of a failure."""
    check(result.is_error, result)
    check(result.content[0].text.startswith(code), result)
    same(result.structured_content["error_code"], code)
    return result.structured_content


class Person:
    """Who is behind a client: what they say next, and what they were asked."""

    def __init__(self):
        self.answers = []
        self.questions = []

    def says(self, message):
        self.questions.append(message)
        check(self.answers, f"nobody expected to be asked: {message}")
        return self.answers.pop(0)


def watch_processes():
    """SDKs keep their processes to themselves; how those end is part of the contract."""
    started = []
    start = stdio._create_platform_compatible_process

    async def watched(*positional, **named):
        started.append(await start(*positional, **named))
        return started[-1]

    stdio._create_platform_compatible_process = watched
    return started
