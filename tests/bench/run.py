"""All benchmarks, one after the other: ``make bench``, ``make bench BENCH_DATA=/a/folder``.

With data, what the modes find is measured as well; REQUESTS and MODELS are further queries and a
folder of exported models, as ``bench_found.py`` takes them: a cross-encoder is looked for there, too.
CONVERSATIONS are labelled ones over the skills of the data, on which push is measured.

Each prints its own lines; everything goes to ``build/bench.jsonl`` as well, with the commit, the
machine and the versions it was measured with.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PACKAGES = (
    "skillcue",
    "numpy",
    "scipy",
    "rank-bm25",
    "onnxruntime",
    "tokenizers",
    "langchain",
    "langgraph",
    "llama-index-core",
)


def environment() -> dict[str, object]:
    """Commit, machine and versions."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],
        check=False,
        cwd=ROOT,
        capture_output=True,
        text=True,
    ).stdout.strip()
    return {
        "what": "environment",
        "commit": commit,
        "date": datetime.now(UTC).date().isoformat(),
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "versions": {name: importlib.metadata.version(name) for name in PACKAGES},
    }


def found(args: argparse.Namespace, data: list[str]) -> list[list[str]]:
    """Commands that measure what is found."""
    requests = ["--requests", str(args.requests.resolve())] if args.requests else []
    models = ["--models", str(args.models.resolve())] if args.models else []
    commands = [["bench_found.py", *data, *requests, *models]]
    for folder in sorted(args.models.resolve().glob("*rerank*")) if args.models else []:
        scorer = ["--cross-encoder", f"onnx:{folder}"]
        commands.append(["bench_two_stage.py", *data, *requests, *scorer])
    return commands


def push(args: argparse.Namespace, data: list[str]) -> list[str]:
    """Command that measures when push speaks; without conversations on the examples."""
    if not (data and args.conversations):
        return ["bench_push.py"]
    requests = ["--requests", str(args.requests.resolve())] if args.requests else []
    talks = ["--conversations", str(args.conversations.resolve())]
    return ["bench_push.py", *data, *talks, *requests]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="folder with the large pools")
    parser.add_argument("--requests", type=Path, help="further labelled queries")
    parser.add_argument("--conversations", type=Path, help="labelled conversations")
    parser.add_argument("--models", type=Path, help="folder of exported models")
    args = parser.parse_args()
    data = ["--data", str(args.data.resolve())] if args.data else []
    commands = [
        ["bench_agent.py"],
        ["bench_reading.py", "--skills", "5000"],
        ["bench_advise.py", *data],
        ["bench_bm25.py", *data],
        ["bench_index.py", *data],
        ["bench_index.py", *data, "--encoder", "minilm", "--sizes", "34000"],
        push(args, data),
        *(found(args, data) if args.data else []),
    ]
    out = ROOT / "build" / "bench.jsonl"
    out.parent.mkdir(exist_ok=True)
    failed = 0
    with out.open("w", encoding="utf-8") as log:
        log.write(json.dumps(environment()) + "\n")
        for command in commands:
            print(f"== {' '.join(command)}", flush=True)
            process = subprocess.Popen(
                [sys.executable, *command], cwd=HERE, stdout=subprocess.PIPE, text=True
            )
            for line in process.stdout or ():
                print(line, end="", flush=True)
                if line.startswith("{"):
                    log.write(line)
            failed += process.wait() != 0
    print(f"written to {out.relative_to(ROOT)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
