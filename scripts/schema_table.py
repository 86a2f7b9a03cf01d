#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# The keys of a JSON Schema as a table for a page (docs/json.md):
#
#     scripts/schema_table.py npulab.compare-1.json [PART]     all keys, or those below a key: devices[].totals
#
# Below a key that has a table of its own in the page, name those parts behind `--without`.
import argparse
import json
import os

SCHEMAS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "schemas")
TYPES = {"string": "text", "integer": "integer", "number": "number", "boolean": "true, false", "object": "object", "array": "list"}


def types(schema):
    given = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    text = ", ".join(TYPES[t] for t in given if t != "null")
    return "text" if "const" in schema else text


def rows(schema, prefix, without):
    for key, inner in schema.get("properties", {}).items():
        path = prefix + key
        items = inner.get("items", {})
        yield path + ("[]" if items else ""), inner
        if path in without or path + "[]" in without:
            continue
        yield from rows(inner, path + ".", without)
        yield from rows(items, path + "[].", without)


def meaning(schema):
    text = schema["description"]
    if "enum" in schema and "`" not in text:
        text += ": " + ", ".join(f"`{v}`" for v in schema["enum"] if v is not None)
    return text + (f"; {schema['unit']}" if "unit" in schema else "")


def absent(schema):
    parts = [schema["nullWhen"]] if "nullWhen" in schema else []
    return "; ".join(parts + ([f"left out: {schema['absentWhen']}"] if "absentWhen" in schema else []))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("schema")
    parser.add_argument("part", nargs="?", default="")
    parser.add_argument("--without", nargs="*", default=[])
    options = parser.parse_args()
    with open(os.path.join(SCHEMAS, options.schema), encoding="utf-8") as f:
        schema = json.load(f)
    for key in filter(None, options.part.replace("[]", ".[]").split(".")):
        schema = schema["items"] if key == "[]" else schema["properties"][key]
    table = [["key", "type", "meaning; unit", "null when", "column"]]
    table += [[f"`{path}`", types(inner), meaning(inner), absent(inner), inner.get("column", "")] for path, inner in rows(schema, "", options.without)]
    if not any(row[4] for row in table[1:]):
        table = [row[:4] for row in table]
    table.insert(1, ["---"] * len(table[0]))
    for row in table:
        print("| " + " | ".join(row) + " |" if row[0] != "---" else "|" + "---|" * len(row))


main()
