"""List and fill the fields of an interactive PDF form (needs pypdf 6 or later).

Usage:
    python fill_form.py list form.pdf
    python fill_form.py fill form.pdf values.json out.pdf [--flatten]
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

KINDS = {"/Tx": "text", "/Btn": "button", "/Ch": "choice", "/Sig": "signature"}


def describe(reader: Any) -> dict[str, dict[str, Any]]:
    """Name -> kind, value, states or options, and length limit of every field."""
    fields: dict[str, dict[str, Any]] = {}
    for name, field in (reader.get_fields() or {}).items():
        kind = KINDS.get(field.get("/FT", ""))
        if kind is None:
            continue
        entry: dict[str, Any] = {"kind": kind, "value": field.get("/V")}
        if kind == "button":
            entry["states"] = [str(state) for state in field.get("/_States_", [])]
        if kind == "choice":
            entry["options"] = [export_value(option) for option in field.get("/Opt", [])]
        limit = inherited(field.indirect_reference, "/MaxLen")
        if kind == "text" and limit is not None:
            entry["max_length"] = int(limit)
        fields[name] = entry
    return fields


def inherited(reference: Any, key: str) -> Any:
    """Value of `key` in a field or in the nearest field above it."""
    node = reference.get_object() if reference is not None else None
    while node is not None:
        if key in node:
            return node[key]
        node = node["/Parent"].get_object() if "/Parent" in node else None
    return None


def export_value(option: Any) -> str:
    """An option is a text, or a pair of export value and label."""
    return str(option[0]) if isinstance(option, list) else str(option)


def problems(fields: dict[str, dict[str, Any]], values: dict[str, str]) -> list[str]:
    """Everything that would fill the form wrongly or not at all."""
    found = []
    for name, value in values.items():
        field = fields.get(name)
        if field is None:
            found.append(f"{name}: no such field")
        elif field["kind"] == "signature":
            found.append(f"{name}: signature fields cannot be filled")
        elif field["kind"] == "button" and value not in field["states"]:
            found.append(f"{name}: {value!r} is not one of {field['states']}")
        elif field["kind"] == "choice" and value not in field["options"]:
            found.append(f"{name}: {value!r} is not one of {field['options']}")
        elif len(value) > field.get("max_length", len(value)):
            found.append(f"{name}: {len(value)} characters, at most {field['max_length']}")
    return found


def fill(source: str, values_file: str, target: str, flatten: bool) -> int:
    from pypdf import PdfReader, PdfWriter

    with open(values_file, encoding="utf-8") as handle:
        values = {name: str(value) for name, value in json.load(handle).items()}
    reader = PdfReader(source)
    fields = describe(reader)
    found = problems(fields, values)
    if found:
        print("\n".join(found), file=sys.stderr)
        return 1
    writer = PdfWriter(clone_from=reader)
    for page in writer.pages:
        if "/Annots" in page:
            writer.update_page_form_field_values(
                page, values, auto_regenerate=False, flatten=flatten
            )
    if flatten:
        writer.remove_annotations(subtypes="/Widget")
        writer.root_object.pop("/AcroForm", None)
    writer.write(target)
    print(f"{len(values)} of {len(fields)} fields filled, written to {target}")
    return 0


def show(source: str) -> int:
    from pypdf import PdfReader

    reader = PdfReader(source)
    form = reader.trailer["/Root"].get("/AcroForm")
    if form is not None and "/XFA" in form.get_object():
        print("XFA form")
    fields = describe(reader)
    text = json.dumps(fields, indent=2, ensure_ascii=False, default=str)
    print(text if fields else "no form fields")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description="List and fill the fields of a PDF form.")
    commands = parser.add_subparsers(dest="command", required=True)
    lister = commands.add_parser("list", help="print the fields as JSON")
    lister.add_argument("source")
    filler = commands.add_parser("fill", help="fill fields from a JSON object")
    filler.add_argument("source")
    filler.add_argument("values")
    filler.add_argument("target")
    filler.add_argument("--flatten", action="store_true", help="turn fields into page content")
    args = parser.parse_args()
    if args.command == "list":
        return show(args.source)
    return fill(args.source, args.values, args.target, args.flatten)


if __name__ == "__main__":
    sys.exit(main())
