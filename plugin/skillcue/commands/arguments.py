"""What can be typed: commands, options, help. Imports nothing but argparse."""

from __future__ import annotations

import argparse
from typing import NoReturn

from skillcue import __version__

__all__ = ["build_parser"]

_EXIT_CODES = """\
exit codes:
  0 done   1 nothing found, or problems found   2 wrong usage or set-up
"""
_SKILLS_HELP = (
    "folder of skills, one skill's folder, or what a plugin opens; may be repeated, earlier ones "
    "win (default: $SKILLCUE_SKILLS, else ./skills, ./.claude/skills or ./.agents/skills)"
)


class _Parser(argparse.ArgumentParser):
    """Says how to get help instead of printing the whole usage."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"error: {message}\n       Try: {self.prog} --help\n")


def build_parser() -> argparse.ArgumentParser:
    """The parser of the whole command line; `module` of its result names the command's module."""
    parser = _Parser(
        prog="skillcue",
        description="The right Agent Skill at the right turn: look into a library of skills, "
        "and see what an agent would get.",
        epilog="Each command has a --help of its own, with examples.\n\n" + _EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"skillcue {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _demo(commands)
    _search(commands)
    _explain(commands)
    _list(commands)
    _load(commands)
    _refine(commands)
    _doctor(commands)
    _eval(commands)
    _calibrate(commands)
    _cost(commands)
    _stats(commands)
    _next(commands)
    _index(commands)
    _augment(commands)
    _export_pairs(commands)
    _lock(commands)
    _publish(commands)
    _serve(commands)
    _plugins(commands)
    return parser


def _demo(commands: argparse._SubParsersAction[_Parser]) -> None:
    parser = _command(
        commands,
        "demo",
        "play a conversation in LangGraph and LlamaIndex and show what push and pull did",
        """\
  skillcue demo
  skillcue demo --skills ~/my-skills --framework langgraph
  SKILLCUE_DEMO_MODEL=openai:gpt-5 skillcue demo --conversation talk.json

Without SKILLCUE_DEMO_MODEL a scripted model plays the agent, and the screen says so.
""",
    )
    _library_options(
        parser, skills_help=_SKILLS_HELP.partition(" (default")[0] + " (default: examples/skills)"
    )
    _retrieval_options(parser)
    parser.add_argument(
        "--conversation",
        metavar="FILE",
        help="JSON conversation whose user messages are played (default: "
        "examples/conversations/month-end.json; with --skills, one made up from the library)",
    )
    parser.add_argument(
        "--framework",
        choices=("langgraph", "llamaindex", "both"),
        default="both",
        help="where the agent runs (default: both)",
    )


def _search(commands: argparse._SubParsersAction[_Parser]) -> None:
    parser = _command(
        commands,
        "search",
        "rank the library for a query",
        """\
  skillcue search "fill in a form" --skills examples/skills
  skillcue search "slow query" --k 3 --filter category=data --json
  skillcue search "and for April?" --context "matching bank transfers with invoices"
  skillcue search "sort my taxes" --mode expand --llm openai:qwen3@http://localhost:8000/v1
""",
    )
    parser.add_argument("query", metavar="QUERY", help="what is looked for; quote several words")
    _library_options(parser)
    _retrieval_options(parser)
    parser.add_argument(
        "--k", type=int, default=5, metavar="N", help="number of results, 1 or more (default: 5)"
    )
    parser.add_argument(
        "--context", default="", metavar="TEXT", help="the conversation or task around the query"
    )
    parser.add_argument(
        "--filter",
        action="append",
        default=[],
        metavar="FIELD=VALUE",
        help="only skills with this tag, category (or one above it), source or trust; may be "
        "repeated with another field",
    )


def _explain(commands: argparse._SubParsersAction[_Parser]) -> None:
    parser = _command(
        commands,
        "explain",
        "say why skills rank as they do, and what the push gate decides",
        """\
  skillcue explain "fill in a form" --skills examples/skills
  skillcue explain --conversation examples/conversations/month-end.json
  skillcue explain --conversation talk.json --html talk.html
  skillcue explain "sort my taxes" --mode expand --llm openai:qwen3@http://localhost:8000/v1
""",
    )
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("query", nargs="?", metavar="QUERY", help="a user message, in quotes")
    what.add_argument(
        "--conversation", metavar="FILE", help="JSON conversation; each user turn is explained"
    )
    _library_options(parser)
    _retrieval_options(parser)
    parser.add_argument(
        "--k", type=int, default=3, metavar="N", help="number of hits explained (default: 3)"
    )
    parser.add_argument(
        "--html",
        metavar="FILE",
        help="draw the conversation as a page, one file that loads nothing",
    )


def _list(commands: argparse._SubParsersAction[_Parser]) -> None:
    parser = _command(
        commands,
        "list",
        "list the skills of the library",
        """\
  skillcue list --skills examples/skills
  skillcue list --category finance --json
""",
    )
    _library_options(parser)
    parser.add_argument(
        "--category", metavar="NAME", help="only skills of this category or below it"
    )
    parser.add_argument("--tag", metavar="TAG", help="only skills with this tag")


def _load(commands: argparse._SubParsersAction[_Parser]) -> None:
    parser = _command(
        commands,
        "load",
        "print a skill, or a file beside it, as an agent gets it",
        """\
  skillcue load pdf-form-filling --skills examples/skills
  skillcue load pdf-form-filling --file reference.md --page 2
  skillcue load merge-tables --cache ~/.cache/skillcue
""",
    )
    parser.add_argument(
        "name", metavar="NAME", help="name or id, as shown by list, search and refine"
    )
    _library_options(parser)
    parser.add_argument(
        "--cache", metavar="FOLDER", help="find what `skillcue refine --cache FOLDER` composed"
    )
    parser.add_argument("--file", metavar="PATH", help="a file of the skill instead of its text")
    parser.add_argument(
        "--page", type=int, default=1, metavar="N", help="page of a long text, from 1 (default: 1)"
    )


def _refine(commands: argparse._SubParsersAction[_Parser]) -> None:
    parser = _command(
        commands,
        "refine",
        "let a language model compose one to three skills for a task, and show its steps",
        """\
  skillcue refine "merge the tables of these reports" --llm openai:gpt-5@https://api.openai.com/v1
  skillcue refine "$(cat task.txt)" --llm openai:local@http://127.0.0.1:8080/v1 --cache ~/.skillcue
  skillcue refine "audit the invoices" --llm openai:m@http://127.0.0.1:8080/v1 --tokens 8000 --json
""",
    )
    parser.add_argument("task", metavar="TASK", help="what is to be done; quote several words")
    _library_options(parser)
    _model_options(parser, "the language model", required=True)
    parser.add_argument(
        "--encoder",
        metavar="SPEC",
        help="minilm, static, onnx:/path, st:model or a plugin's (default: minilm)",
    )
    parser.add_argument(
        "--cache",
        metavar="FOLDER",
        help="keep refined skills there, so that the task is refined once (default: keep none)",
    )
    parser.add_argument(
        "--base", metavar="MODE", help="answers where nothing is refined (default: skillsight)"
    )
    bounds = parser.add_argument_group("bounds")
    bounds.add_argument(
        "--commands", type=int, metavar="N", help="searches and pages read (default: 10)"
    )
    bounds.add_argument("--seconds", type=float, metavar="N", help="time (default: 60)")
    bounds.add_argument(
        "--tokens", type=int, metavar="N", help="tokens sent and received (default: 30000)"
    )
    bounds.add_argument(
        "--money", type=float, metavar="N", help="money, where --price is given (default: 1)"
    )


def _doctor(commands: argparse._SubParsersAction[_Parser]) -> None:
    parser = _command(
        commands,
        "doctor",
        "say what is wrong with the files, what is alike, and what the library costs",
        """\
  skillcue doctor --skills examples/skills
  skillcue doctor --files --skills examples/skills
  skillcue doctor --strict --json > report.json
""",
    )
    _library_options(parser)
    parser.add_argument(
        "--strict", action="store_true", help="exit with 1 when there are warnings, too"
    )
    parser.add_argument(
        "--files",
        action="store_true",
        help="assess the text files beside each SKILL.md as well, as loading one does",
    )


def _eval(commands: argparse._SubParsersAction[_Parser]) -> None:
    parser = _command(
        commands,
        "eval",
        "measure how well modes find the right skill, or how well push speaks and is silent",
        """\
  skillcue eval examples/evaluation --modes bm25,skillsight
  skillcue eval my-data --split dev --field short --context text --html report.html
  skillcue eval my-data --pool 34000 --distractors market.jsonl.gz --cache build/vectors
  skillcue eval talks.jsonl --skills my-skills --modes bm25,skillsight --html push.html
  skillcue eval talks.jsonl --skills my-skills --modes skillsight --max-false-push 0.1
  skillcue eval my-data --modes skillsight,expand --llm openai:m@http://127.0.0.1:8080/v1
""",
    )
    parser.add_argument(
        "dataset",
        metavar="DATASET",
        help="folder with corpus.jsonl, queries.jsonl and qrels.tsv (all may end in .gz); or a file "
        "or folder of labelled conversations, on which push is measured",
    )
    parser.add_argument(
        "--modes",
        default="bm25,skillsight",
        metavar="MODE,...",
        help="modes to measure, separated by commas (default: bm25,skillsight)",
    )
    parser.add_argument(
        "--baseline", metavar="MODE", help="the mode others are compared with (default: the first)"
    )
    parser.add_argument(
        "--k", type=int, default=5, metavar="N", help="hits that count, 1 or more (default: 5)"
    )
    parser.add_argument(
        "--max-false-push",
        type=float,
        metavar="SHARE",
        help="on labelled conversations, the setting of the gate: the share of turns that need "
        "nothing on which push may speak, 0 to 1 (default: 0.05)",
    )
    _eval_data(parser)
    _eval_encoding(parser)
    _model_options(parser, "for modes expand and refine, whose cost is measured as well")
    _eval_output(parser)


def _eval_data(parser: argparse.ArgumentParser) -> None:
    data = parser.add_argument_group("data")
    data.add_argument("--split", metavar="NAME", help="queries-NAME.jsonl and qrels-NAME.tsv")
    data.add_argument("--queries", metavar="FILE", help="queries, instead of those of the layout")
    data.add_argument("--qrels", metavar="FILE", help="judgments, instead of those of the layout")
    data.add_argument(
        "--field", default="text", metavar="NAME", help="field of a query to ask (default: text)"
    )
    data.add_argument(
        "--context",
        default="context",
        metavar="NAME",
        help="field of a query that is its second view, where it has one; '' for no second view "
        "(default: context)",
    )
    data.add_argument(
        "--pool",
        type=int,
        metavar="N",
        help="N skills altogether: the corpus, then the first distractors (default: the corpus)",
    )
    data.add_argument(
        "--distractors",
        metavar="FILE",
        help="where further skills stand (default: the only one of distractors*.jsonl, "
        "market.jsonl and bodies.jsonl)",
    )
    data.add_argument(
        "--skills",
        action="append",
        default=[],
        metavar="FOLDER",
        help="folder of SKILL.md files whose names the judgments use, instead of corpus.jsonl; "
        "may be repeated",
    )
    data.add_argument(
        "--corpus", metavar="FILE", help="the skills as lines of JSON, where they stand elsewhere"
    )
    data.add_argument(
        "--outcomes",
        metavar="FILE",
        help='how agents fared, lines of {"query": id, "reward": number}: adds the helpfulness gap',
    )


def _eval_encoding(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--encoder",
        metavar="SPEC",
        help="minilm, static, onnx:/path, st:model or a plugin's (default: minilm)",
    )
    parser.add_argument(
        "--bodies",
        choices=("lexical", "all", "none"),
        default="lexical",
        help="search bodies by their words, encode them as well, or leave them out of all modes "
        "(default: lexical)",
    )
    parser.add_argument(
        "--cross-encoder",
        metavar="SPEC",
        help="for mode two_stage: onnx:/path, st:model-or-path or lm:model-or-path",
    )
    parser.add_argument(
        "--setting",
        action="append",
        default=[],
        metavar="MODE.NAME=VALUE",
        help="a setting of a mode, such as two_stage.budget_ms=60000; may be repeated",
    )
    parser.add_argument(
        "--cache", metavar="FOLDER", help="keep vectors there; rankings are never cached"
    )


def _eval_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--json", metavar="FILE", help="write everything as one JSON document; - is stdout"
    )
    parser.add_argument("--html", metavar="FILE", help="write a report with plots, one file")
    parser.add_argument(
        "--progress",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="show a bar on a terminal",
    )
    _traceback_option(parser)


def _calibrate(commands: argparse._SubParsersAction[_Parser]) -> None:
    parser = _command(
        commands,
        "calibrate",
        "fit the gate of push to what was recorded in use",
        """\
  skillcue calibrate --from traces.jsonl
  skillcue calibrate --from traces.jsonl --labels outcomes.jsonl --max-false-push 0.1
  skillcue calibrate --from traces.jsonl --skills my-skills --out gate.json --json

SkillCue(..., traces="traces.jsonl") records; calibrated_gate("calibration.json") reads the result.
""",
    )
    parser.add_argument(
        "--from",
        dest="traces",
        required=True,
        metavar="FILE",
        help="the traces; FILE.1 beside it is read as well",
    )
    parser.add_argument(
        "--labels",
        metavar="FILE",
        help='what is known better, lines of {"turn": id, "need": true or false}',
    )
    parser.add_argument(
        "--max-false-push",
        type=float,
        default=0.05,
        metavar="SHARE",
        help="share of turns that need no skill on which push may speak (default: 0.05)",
    )
    parser.add_argument(
        "--mode", metavar="MODE", help="turns of this mode (default: the one with most of them)"
    )
    parser.add_argument(
        "--out",
        default="calibration.json",
        metavar="FILE",
        help="where the settings are written (default: calibration.json)",
    )
    parser.add_argument(
        "--skills",
        action="append",
        metavar="FOLDER",
        help="the library, to be told how many turns were decided over another state of it",
    )
    parser.add_argument(
        "--progress",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="show a bar on a terminal while traces are read and fitted",
    )
    _common_options(parser)


def _cost(commands: argparse._SubParsersAction[_Parser]) -> None:
    parser = _command(
        commands,
        "cost",
        "what push added to prompts and what its language models took, by mode, from traces",
        """\
  skillcue cost --from traces.jsonl
  skillcue cost --from traces.jsonl --skills my-skills
  skillcue cost --from traces.jsonl --json

SkillCue(..., traces="traces.jsonl") records; prices={"model": (in, out)} makes it count money.
This is what push cost, and how many skills agents loaded themselves. Searches by the agent
(skill_lookup) are not in traces, nor is the size of what it loads: what the model of such searches
took is in SkillCue.language_model_usage, of the process alone.
""",
    )
    parser.add_argument(
        "--from",
        dest="traces",
        required=True,
        metavar="FILE",
        help="the traces; FILE.1 beside it is read as well",
    )
    parser.add_argument(
        "--skills",
        action="append",
        metavar="FOLDER",
        help="the library, to compare with loading all of it into every prompt",
    )
    parser.add_argument(
        "--progress",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="show a bar on a terminal while traces are read",
    )
    _common_options(parser)


def _stats(commands: argparse._SubParsersAction[_Parser]) -> None:
    parser = _command(
        commands,
        "stats",
        "what agents were shown, what they read and ignored, and what they did not find",
        """\
  skillcue stats --events events.db
  skillcue stats --events events.db --since 7d --skills my-skills
  skillcue stats --events events.db --skills my-skills --html stats.html

SkillCue(..., events="events.db") stores them; EventSettings(text=True) with the words of queries.
""",
    )
    parser.add_argument("--events", required=True, metavar="FILE", help="the stored events")
    parser.add_argument(
        "--since", metavar="WHEN", help="a span such as 24h, 7d or 2w, or a date (default: all)"
    )
    parser.add_argument(
        "--skills",
        action="append",
        metavar="FOLDER",
        help="the library, to name skills that nobody read, and to compare with loading all of it",
    )
    parser.add_argument("--html", metavar="FILE", help="write a page to look at, one file")
    parser.add_argument(
        "--top", type=int, default=20, metavar="N", help="rows of long tables (default: 20)"
    )
    parser.set_defaults(progress=False)
    _common_options(parser)


def _next(commands: argparse._SubParsersAction[_Parser]) -> None:
    parser = _command(
        commands,
        "next",
        "what would be suggested after which skill, how often it would have been right, and why not",
        """\
  skillcue next --events events.db --skills my-skills
  skillcue next invoice-extraction --events events.db --skills my-skills
  skillcue next --events events.db --skills my-skills --min-support 20 --json

SkillCue(..., events="events.db", next_skills=True) suggests it.
""",
    )
    parser.add_argument(
        "name", nargs="?", metavar="NAME", help="a skill, by name or id (default: all)"
    )
    parser.add_argument("--events", required=True, metavar="FILE", help="the stored events")
    _library_options(parser)
    parser.add_argument(
        "--top", type=int, default=20, metavar="N", help="rows of long tables (default: 20)"
    )
    needed = parser.add_argument_group("what it takes, as in NextSettings")
    needed.add_argument("--limit", type=int, metavar="N", help="suggestions a skill (default: 2)")
    needed.add_argument(
        "--min-support", type=int, metavar="N", help="times it followed and was tried (default: 10)"
    )
    needed.add_argument(
        "--confidence", type=float, metavar="SHARE", help="that q exceeds p (default: 0.95)"
    )
    needed.add_argument(
        "--least-share", type=float, metavar="SHARE", help="of loads it follows (default: 0.5)"
    )
    needed.add_argument(
        "--k", type=int, metavar="N", help="first results in which search succeeds (default: 5)"
    )


def _index(commands: argparse._SubParsersAction[_Parser]) -> None:
    parser = _command(
        commands,
        "index",
        "make the index of a library ahead of time, and keep it in a folder",
        """\
  skillcue index --skills examples/skills --cache build/index
  skillcue index --skills ~/marketplace --cache ~/.cache/skillcue --encoder static --json
  skillcue index --skills ~/my-skills --cache ~/.cache/skillcue --bodies all

Stopped or killed, it goes on where it was. SkillCue(..., cache=FOLDER) uses what is there.
""",
    )
    _library_options(parser)
    _retrieval_options(parser)


def _augment(commands: argparse._SubParsersAction[_Parser]) -> None:
    parser = _command(
        commands,
        "augment",
        "add to the index, once, how people may ask for each skill",
        """\
  skillcue augment --skills examples/skills --cache build/index
  skillcue augment --skills ~/my-skills --cache ~/.cache/skillcue --dry-run
  skillcue augment --cache build/index --llm openai:qwen3@http://localhost:8000/v1 --price 0.1,0.4

Rules make it, or a language model does. Stopped or killed, it goes on where it was; what changed is
made again. Skill files are never written. SkillCue(..., cache=FOLDER, augment=True) searches what
is there; read docs/explanation/augmentation.md for what that gains.
""",
    )
    _library_options(parser)
    parser.add_argument(
        "--cache",
        dest="folder",
        required=True,
        metavar="FOLDER",
        help="the folder of the index, where augmentations are kept as well",
    )
    _model_options(parser, "asked instead of the rules, which stand in for answers that are wrong")
    parser.add_argument(
        "--dry-run", action="store_true", help="say how many skills, tokens and money, and stop"
    )


def _export_pairs(commands: argparse._SubParsersAction[_Parser]) -> None:
    parser = _command(
        commands,
        "export-pairs",
        "write pseudo-queries, their skills and hard negatives as training data",
        """\
  skillcue export-pairs --skills examples/skills --out pairs.jsonl
  skillcue export-pairs --skills ~/my-skills --cache ~/.cache/skillcue --out pairs.jsonl
  skillcue export-pairs --skills ~/my-skills --mode bm25 --negatives 7 --out pairs.jsonl

What `skillcue augment` has put into the folder of --cache is used, else the rules make it now.
examples/fine_tune/ trains a bi-encoder on the file.
""",
    )
    _library_options(parser)
    _retrieval_options(parser)
    parser.add_argument(
        "--out", required=True, metavar="FILE", help="where the lines of JSON are written"
    )
    parser.add_argument(
        "--negatives",
        type=int,
        default=4,
        metavar="N",
        help="skills a line that the mode finds and that do not answer, 0 or more (default: 4)",
    )


def _lock(commands: argparse._SubParsersAction[_Parser]) -> None:
    parser = _command(
        commands,
        "lock",
        "write down what every skill is, or check that nothing has changed since",
        """\
  skillcue lock --skills examples/skills
  skillcue lock --check
  skillcue lock --check --lock pinned.lock --json

Other commands take --frozen: they serve only what is as it was.
""",
    )
    _library_options(parser, frozen=False)
    parser.add_argument(
        "--check",
        action="store_true",
        help="compare and write nothing; 1 when a skill was changed, added or removed",
    )


def _publish(commands: argparse._SubParsersAction[_Parser]) -> None:
    parser = _command(
        commands,
        "publish",
        "put skills into an index that many processes share",
        """\
  skillcue publish ~/my-skills --to postgresql://user@host/skills
  skillcue publish team/skills --to "postgresql://host/skills?tenant=acme" --dry-run
  skillcue search "fill in a form" --skills "postgresql://host/skills?tenant=acme&tenant=shared"

The tenant then has exactly these skills: what no folder holds any more is deleted, unless --keep
says otherwise. What is there already costs nothing. Stopped or killed, it goes on where it was.
""",
    )
    parser.add_argument(
        "skills", nargs="+", metavar="SKILLS", help="folder of skills, or what a plugin opens"
    )
    parser.add_argument(
        "--to",
        required=True,
        metavar="ADDRESS",
        help="postgresql://USER@HOST/DATABASE, with ?tenant=NAME and &schema=NAME if need be",
    )
    parser.add_argument(
        "--tenant", metavar="NAME", help="whose skills they are (default: nobody's)"
    )
    parser.add_argument(
        "--encoder",
        metavar="SPEC",
        help="minilm, static, onnx:/path, st:model-or-path or one of a plugin; all skills of an "
        "index have one (default: minilm)",
    )
    parser.add_argument(
        "--trust",
        choices=("trusted", "untrusted"),
        help="trust level of the folders (default: trusted); untrusted skills are never pushed",
    )
    parser.add_argument(
        "--keep", action="store_true", help="delete nothing: others publish to this tenant as well"
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="say what would be stored and deleted, and stop"
    )
    parser.add_argument("--cache", metavar="FOLDER", help="the folder of --augment")
    parser.add_argument(
        "--augment",
        action="store_true",
        help="publish what `skillcue augment` has put into the folder of --cache as well",
    )
    _lock_options(parser, frozen=True)
    parser.add_argument(
        "--progress",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="show bars on a terminal",
    )
    _common_options(parser)


def _serve(commands: argparse._SubParsersAction[_Parser]) -> None:
    parser = _command(
        commands,
        "serve",
        "be an MCP server, for any client that speaks the Model Context Protocol",
        """\
  skillcue serve --skills ~/my-skills --cache ~/.cache/skillcue
  skillcue serve --skills ~/my-skills --transport http --port 8000

Over stdio a client starts it, talks to it, and ends it. Over HTTP it answers at
http://127.0.0.1:8000/mcp until Ctrl-C. A client names another mode with the header X-Skill-Method,
or with skillcue/method in the _meta of a request.
""",
    )
    parser.add_argument("--skills", action="append", metavar="FOLDER", help=_SKILLS_HELP)
    _lock_options(parser, frozen=True)
    _traceback_option(parser)
    _retrieval_options(parser)
    parser.add_argument(
        "--transport",
        choices=("stdio", "http"),
        default="stdio",
        help="how clients reach it (default: stdio)",
    )
    # Without defaults, so that one that is given where it does nothing is not taken in silence.
    http = parser.add_argument_group("http")
    http.add_argument(
        "--host",
        metavar="ADDRESS",
        help="address to listen on (default: 127.0.0.1, this machine only)",
    )
    http.add_argument("--port", type=int, metavar="N", help="0 for any free one (default: 8000)")
    http.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="another host name under which clients may ask; may be repeated",
    )


def _plugins(commands: argparse._SubParsersAction[_Parser]) -> None:
    parser = _command(
        commands,
        "plugins",
        "list the plugins that are loaded, their hooks and their retrieval modes",
        "  skillcue plugins\n  skillcue plugins --json\n",
    )
    _common_options(parser)


def _command(
    commands: argparse._SubParsersAction[_Parser], name: str, summary: str, examples: str
) -> argparse.ArgumentParser:
    parser = commands.add_parser(
        name,
        help=summary,
        description=f"{summary[0].upper()}{summary[1:]}.",
        epilog=f"examples:\n{examples}\n{_EXIT_CODES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(module=name.replace("-", "_"))
    return parser


def _library_options(
    parser: argparse.ArgumentParser, skills_help: str = _SKILLS_HELP, *, frozen: bool = True
) -> None:
    parser.add_argument("--skills", action="append", metavar="FOLDER", help=skills_help)
    _lock_options(parser, frozen=frozen)
    parser.add_argument(
        "--progress",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="show a bar on a terminal while a large library is read",
    )
    _common_options(parser)


def _lock_options(parser: argparse.ArgumentParser, *, frozen: bool) -> None:
    parser.add_argument("--lock", metavar="FILE", help="the lock file (default: skillcue.lock)")
    if frozen:
        parser.add_argument(
            "--frozen",
            action="store_true",
            help="serve only skills that are as the lock file has them",
        )


def _retrieval_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--mode", metavar="MODE", help="retrieval mode; `skillcue plugins` lists them"
    )
    parser.add_argument(
        "--encoder",
        metavar="SPEC",
        help="minilm, static, onnx:/path, st:model-or-path or one of a plugin (default: minilm)",
    )
    parser.add_argument(
        "--bodies",
        choices=("lexical", "all"),
        help="search bodies by their words, or encode them as well (default: lexical)",
    )
    parser.add_argument(
        "--cross-encoder",
        metavar="SPEC",
        help="for mode two_stage: onnx:/path, st:model-or-path or lm:model-or-path",
    )
    parser.add_argument(
        "--cache", metavar="FOLDER", help="keep the index there, so that the next run starts warm"
    )
    parser.add_argument(
        "--augment",
        action="store_true",
        help="search what `skillcue augment` has put into the folder of --cache as well",
    )
    _model_options(parser, "for modes expand and refine")


def _model_options(parser: argparse.ArgumentParser, use: str, *, required: bool = False) -> None:
    parser.add_argument(
        "--llm",
        required=required,
        metavar="SPEC",
        help=f"{use}: openai:MODEL@URL, any OpenAI-compatible endpoint; its key is read from "
        "$OPENAI_API_KEY",
    )
    parser.add_argument(
        "--price", metavar="IN,OUT", help="what that model costs for a million tokens in and out"
    )
    parser.add_argument(
        "--llm-timeout",
        type=float,
        metavar="SECONDS",
        help="longest time for one request to that model (default: 60)",
    )


def _common_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    _traceback_option(parser)


def _traceback_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--traceback", action="store_true", help="print the traceback of an error as well"
    )
