"""What the scripts of all Python clients share."""

import contextlib
import json
import os
import pathlib
import secrets
import subprocess

import mcp.client.stdio as stdio

WORKFLOWS = pathlib.Path(__file__).parent.parent / "workflows"
SCHEMA = "milepost://workflow/schema"
GOAL = "find orders that nobody paid"

# Whether clients reach the server over HTTP: all else of their scripts is the same.
OVER_HTTP = os.environ.get("MILEPOST_TRANSPORT") == "http"
VIA = "HTTP" if OVER_HTTP else "stdio"
TOKEN = secrets.token_hex(32)
HEADERS = {"Authorization": f"Bearer {TOKEN}"}


def check(holds, what):
    if not holds:
        raise AssertionError(what)


def same(found, expected):
    check(found == expected, f"{found!r} is not {expected!r}")


def environment(home):
    """What a program of ours sees: nothing of the user who runs the tests."""
    return {"HOME": home}


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


@contextlib.contextmanager
def served(home, started):
    """A server over HTTP for whoever shows HEADERS: where it is. It is one of the processes that
    are watched; told to end, it has to by itself.
    """
    process = subprocess.Popen(
        [os.environ["MILEPOST_BINARY"], "serve", "--port", "0"],
        cwd=home,
        env={**environment(home), "MILEPOST_TOKEN": TOKEN},
        stdout=subprocess.PIPE,
        text=True,
    )
    started.append(process)
    # A script that ends with a surprise leaves no server behind.
    try:
        yield process.stdout.readline().strip()
        process.terminate()
        process.wait(timeout=20)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
