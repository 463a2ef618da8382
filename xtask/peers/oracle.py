"""Builds the requests of a case table with other programs and prints where they differ.

    python -m venv venv && venv/bin/pip install openapi-core fastmcp
    venv/bin/python xtask/peers/oracle.py [crates/catalog/tests/request/cases.json]

Two independent judges look at every case that is sent:

- fastmcp builds the request from the same operation and arguments (its `RequestDirector`);
  the request line, the headers and the body are compared with the table.
- openapi-core reads the request of the table and gives back the arguments; they are compared
  with the arguments of the case.

One line for each difference, then the counts. Every difference is explained in
crates/catalog/tests/request/DIFFERENCES.md.
"""

import json
import logging
import sys
from collections import Counter
from urllib.parse import unquote, urlsplit

from fastmcp.utilities.openapi import parse_openapi_to_http_routes
from fastmcp.utilities.openapi.director import RequestDirector
from jsonschema_path import SchemaPath
from openapi_core import OpenAPI
from openapi_core.datatypes import RequestParameters
from werkzeug.datastructures import Headers, ImmutableMultiDict

logging.disable(logging.CRITICAL)

METHODS = {"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE"}


class Skip(Exception):
    """The other program cannot be asked."""


def schema_of(value):
    """A schema that says what a value is: openapi-core casts by type."""
    match value:
        case None:
            return {}
        case bool():
            return {"type": "boolean"}
        case int():
            return {"type": "integer"}
        case float():
            return {"type": "number"}
        case str():
            return {"type": "string"}
        case list():
            kinds = [schema_of(item) for item in value]
            same = kinds and all(kind == kinds[0] for kind in kinds)
            return {"type": "array", "items": kinds[0] if same else {}}
    return {"type": "object", "properties": {k: schema_of(v) for k, v in value.items()}}


def document(group, case):
    """The operation of a group as a document of OpenAPI 3.1."""
    method = group.get("method", "GET")
    if method not in METHODS:
        raise Skip(f"no {method} in OpenAPI 3.1")
    given = {name.split(".")[-1].lower(): value for name, value in case.get("with", {}).items()}
    parameters = []
    for parameter in group.get("parameters", []):
        if "collectionFormat" in parameter or parameter["in"] == "querystring":
            raise Skip("not in OpenAPI 3.1")
        if parameter.get("style") == "cookie":
            raise Skip("style of OpenAPI 3.2")
        parameter = dict(parameter)
        parameter.setdefault("required", parameter["in"] == "path")
        schema = parameter.pop("schema", None) or schema_of(given.get(parameter["name"].lower()))
        if "content" in parameter:
            parameter["content"] = {kind: {"schema": schema} for kind in parameter["content"]}
        else:
            parameter["schema"] = schema
        parameters.append(parameter)
    operation = {
        "operationId": "t",
        "parameters": parameters,
        "responses": {"200": {"description": "ok"}},
    }
    if "body" in group:
        content = {}
        for kind, media in group["body"]["content"].items():
            content[kind] = {"schema": schema_of(case.get("body")), **media}
        operation["requestBody"] = {**group["body"], "content": content}
    path = group.get("path", "/t")
    return {
        "openapi": "3.1.0",
        "info": {"title": "t", "version": "1"},
        "servers": [{"url": group.get("base", "http://api.test")}],
        "paths": {path: {method.lower(): operation}},
    }


def built_by_fastmcp(group, case):
    """What fastmcp sends: target, headers, content type and body."""
    spec = document(group, case)
    if case.get("content_type"):
        raise Skip("fastmcp always takes the first media type")
    (route,) = parse_openapi_to_http_routes(spec)
    arguments = {}
    for name, value in case.get("with", {}).items():
        place, _, bare = name.partition(".")
        arguments[f"{bare}__{place}" if bare else name] = value
    if "body" in case:
        body = case["body"]
        names = {entry["openapi_name"] for entry in route.parameter_map.values()}
        if isinstance(body, dict) and body and set(body) <= names:
            arguments.update(body)
        else:
            arguments["body"] = body
    director = RequestDirector(SchemaPath.from_dict(spec))
    request = director.build(route, arguments, group.get("base", "http://api.test"))
    headers = {name.lower(): value for name, value in request.headers.items()}
    body = request.read().decode()
    content = headers.get("content-type")
    if content and "boundary=" in content:
        boundary = content.partition("boundary=")[2]
        content, body = (text.replace(boundary, "{boundary}") for text in (content, body))
    own = {"host", "content-length", "content-type", "accept"}
    return {
        "target": request.url.raw_path.decode(),
        "headers": {name: value for name, value in headers.items() if name not in own},
        "content": content,
        "sent": body if content or body else None,
    }


def wanted_of(case):
    """What the table says, in the same form."""
    headers = {name.lower(): value for name, value in case.get("headers", {}).items()}
    return {
        "target": case["target"],
        "headers": headers,
        "content": case.get("content"),
        "sent": case.get("sent"),
    }


class Wire:
    """A request as openapi-core reads it."""

    def __init__(self, group, case):
        split = urlsplit(case["target"])
        base = urlsplit(group.get("base", "http://api.test"))
        query = []
        for pair in filter(None, split.query.split("&")):
            name, _, value = pair.partition("=")
            query.append((unquote(name), unquote(value)))
        headers = case.get("headers", {})
        cookies = []
        for pair in filter(None, headers.get("Cookie", "").split("; ")):
            name, _, value = pair.partition("=")
            cookies.append((name, unquote(value)))
        self.host_url = f"{base.scheme}://{base.netloc}"
        self.path = split.path
        self.method = group.get("method", "GET").lower()
        self.body = case["sent"].encode() if "sent" in case else None
        self.content_type = case.get("content", "")
        self.parameters = RequestParameters(
            query=ImmutableMultiDict(query),
            header=Headers(list(headers.items())),
            cookie=ImmutableMultiDict(cookies),
        )


def each_text(change, value):
    """A value with each of its texts changed."""
    match value:
        case str():
            return change(value)
        case list():
            return [each_text(change, item) for item in value]
        case dict():
            return {change(key): each_text(change, item) for key, item in value.items()}
    return value


def read_by_openapi_core(group, case):
    """The arguments that openapi-core finds in the request of the table."""
    if "{boundary}" in case.get("content", ""):
        case = {**case, "content": case["content"].replace("{boundary}", "b0")}
        case["sent"] = case["sent"].replace("{boundary}", "b0")
    api = OpenAPI.from_dict(document(group, case))
    result = api.unmarshal_request(Wire(group, case))
    if result.errors:
        cause = result.errors[0]
        cause = cause.__cause__ or cause
        raise ValueError(f"{type(cause).__name__}: {cause}".splitlines()[0])
    found = {}
    for place in ("path", "query", "header", "cookie"):
        for name, value in getattr(result.parameters, place).items():
            # A server decodes the path; openapi-core takes it as it is.
            found[f"{place}.{name}"] = each_text(unquote, value) if place == "path" else value
    if "sent" in case:
        found["body"] = result.body
    return found


def arguments_of(group, case):
    """The arguments of a case in the same form; what is undefined is not sent."""
    places = {}
    for parameter in group.get("parameters", []):
        places.setdefault(parameter["name"].lower(), []).append(parameter)
    found = {}
    for name, value in case.get("with", {}).items():
        place, _, bare = name.partition(".")
        if name.lower() in places:
            parameter = places[name.lower()][0]
            if value is None and "content" not in parameter:
                continue
            found[f"{parameter['in']}.{parameter['name']}"] = value
        elif bare and bare.lower() in places:
            found[f"{place}.{bare}"] = value
        else:
            found.setdefault("body", dict(case.get("body") or {}))[bare or name] = value
    if "sent" in case and "body" not in found:
        found["body"] = case.get("body")
    return found


def judge(name, found, wanted, group, case):
    """One of `same`, `differs`, `fails`, `not asked`; with what is to be said about it."""
    try:
        result = found(group, case)
    except Skip as reason:
        return "not asked", str(reason)
    except Exception as error:  # whatever the other program raises is its answer
        return "fails", f"{type(error).__name__}: {error}".splitlines()[0]
    target = wanted(group, case) if name == "openapi-core" else wanted(case)
    if result == target:
        return "same", ""
    parts = [
        f"{key}: {target.get(key)!r} here, {result.get(key)!r} there"
        for key in [*target, *(key for key in result if key not in target)]
        if target.get(key) != result.get(key)
    ]
    return "differs", "; ".join(parts)


def main():
    path = sys.argv[1] if len(sys.argv) > 1 else "crates/catalog/tests/request/cases.json"
    with open(path, encoding="utf-8") as file:
        table = json.load(file)
    judges = [
        ("fastmcp", built_by_fastmcp, wanted_of),
        ("openapi-core", read_by_openapi_core, arguments_of),
    ]
    counts = {name: Counter() for name, *_ in judges}
    for group in table["groups"]:
        for index, case in enumerate(group["cases"]):
            if "refused" in case:
                continue
            for name, found, wanted in judges:
                verdict, words = judge(name, found, wanted, group, case)
                counts[name][verdict] += 1
                if verdict in ("differs", "fails"):
                    print(f"{name}: {group['name']} #{index} {verdict}: {words}")
    for name, verdicts in counts.items():
        print(f"{name}: " + ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items()))


if __name__ == "__main__":
    main()
