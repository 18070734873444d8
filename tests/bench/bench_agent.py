"""What skillcue adds to an agent turn: the same agents with and without it, in pairs.

    python tests/bench/bench_agent.py [--turns 200]

The model is scripted and answers at once, so that nothing but the frameworks and skillcue is
timed. Prints one JSON line a measurement; times in milliseconds a turn.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from llama_index.core.agent.workflow import FunctionAgent
from support.langchain_models import StrictChatModel
from support.modes import CountingModes

from skillcue import SkillCue
from skillcue.demo.bridge import LangChainLLM
from skillcue.langchain import SkillMiddleware
from skillcue.llamaindex import with_skills

TEXTS = [
    "I have to fill in a PDF form for my visa application",
    "A pod in our kubernetes cluster keeps crashing, find out why",
    "Thanks, that is great!",
    "Scale this bread recipe up to 40 people",
]


def compare(
    what: str, plain: Callable[[str], Any], skilled: Callable[[str], Any], turns: int
) -> None:
    """Time both in turn, so that a slow moment of the machine hits both."""
    times: dict[str, list[float]] = {"plain": [], "skilled": []}
    for number in range(turns + 10):
        text = f"{TEXTS[number % len(TEXTS)]} ({number})"  # never cached
        for name, run in (("plain", plain), ("skilled", skilled)):
            started = time.perf_counter()
            run(text)
            if number >= 10:  # the first turns warm up
                times[name].append((time.perf_counter() - started) * 1000)
    medians = {name: statistics.median(values) for name, values in times.items()}
    print(
        json.dumps(
            {
                "what": what,
                "plain_p50_ms": round(medians["plain"], 3),
                "with_skillcue_p50_ms": round(medians["skilled"], 3),
                "overhead_p50_ms": round(medians["skilled"] - medians["plain"], 3),
                "turns": turns,
            }
        ),
        flush=True,
    )


def langchain_agents(cue: SkillCue, turns: int) -> None:
    def runner(middleware: list[Any]) -> Callable[[str], Any]:
        agent = create_agent(StrictChatModel(), [], middleware=middleware)
        return lambda text: agent.invoke({"messages": [HumanMessage(text)]})

    compare("create_agent turn", runner([]), runner([SkillMiddleware(cue)]), turns)


def llamaindex_agents(cue: SkillCue, turns: int) -> None:
    loop = asyncio.new_event_loop()

    def runner(agent: FunctionAgent) -> Callable[[str], Any]:
        async def run(text: str) -> Any:
            return await agent.run(user_msg=text)

        return lambda text: loop.run_until_complete(run(text))

    plain = FunctionAgent(llm=LangChainLLM(StrictChatModel()), streaming=False)
    skilled = with_skills(FunctionAgent(llm=LangChainLLM(StrictChatModel()), streaming=False), cue)
    compare("FunctionAgent turn", runner(plain), runner(skilled), turns)
    loop.close()


def loop_stall() -> None:
    """Longest stall of the event loop while a search takes 300 ms, in a LangChain agent."""
    modes = CountingModes("slow", delay=0.3)
    with SkillCue(ROOT / "examples" / "skills", mode="slow", plugins=[modes], cache=False) as cue:
        cue.wait_ready()
        agent = create_agent(StrictChatModel(), [], middleware=[SkillMiddleware(cue)])
        worst = 0.0

        async def watch() -> None:
            nonlocal worst
            loop = asyncio.get_running_loop()
            while True:
                before = loop.time()
                await asyncio.sleep(0.002)
                worst = max(worst, loop.time() - before)

        async def run() -> None:
            watcher = asyncio.create_task(watch())
            await agent.ainvoke({"messages": [HumanMessage(TEXTS[0])]})
            watcher.cancel()

        asyncio.run(run())
    stall = round(worst * 1000, 1)
    print(json.dumps({"what": "event loop stall during a 300 ms search", "worst_ms": stall}))


def import_time(runs: int = 11) -> None:
    code = "import time; t = time.perf_counter(); import skillcue; print(time.perf_counter() - t)"
    times = [
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)
        for _ in range(runs)
    ]
    print(
        json.dumps({"what": "import skillcue", "p50_ms": round(statistics.median(times) * 1000, 1)})
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=200)
    args = parser.parse_args()
    import_time()
    loop_stall()
    with SkillCue(ROOT / "examples" / "skills", wait=True) as cue:
        langchain_agents(cue, args.turns)
        llamaindex_agents(cue, args.turns)
    return 0


if __name__ == "__main__":
    sys.exit(main())
