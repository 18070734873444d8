"""The sub-agent: asks the model, runs its commands, checks what it hands in.

It ends after a bounded number of requests: one a command at most, one to finish, one to put a
malformed answer right, one to be told again to finish. When a bound comes near, it is told to finish
while there is room for that.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence

from skillcue_adapters.refine.budget import LEAST_PART, Budget
from skillcue_adapters.refine.commands import Answer, Commands
from skillcue_adapters.refine.composed import composed_skill
from skillcue_adapters.refine.conversation import Conversation
from skillcue_adapters.refine.drafts import DraftError, checked_drafts
from skillcue_adapters.refine.failure import RefineError
from skillcue_adapters.refine.prompt import (
    finish_now,
    left_over,
    opening,
    repair_request,
    tool_specs,
)
from skillcue_adapters.refine.protocol import Call, MalformedError, read_calls
from skillcue_adapters.refine.quoting import escaped, plain_line
from skillcue_adapters.refine.settings import RefineSettings
from skillcue_adapters.refine.store import Refinement, Step
from skillcue_adapters.token_estimate import estimate_tokens
from skillcue_hooks.contracts import Skill
from skillcue_hooks.errors import LanguageModelError
from skillcue_hooks.language import ChatMessage, Completion, ToolSpec
from skillcue_hooks.protocols import LanguageModel

__all__ = ["Watch", "refine_task"]

Watch = Callable[[Step], None]
"""Sees each step of a refinement when it is done; must not raise."""

log = logging.getLogger("skillcue.refine")

ARGUMENT_CHARS = 200
"""Longest argument that a step records, characters."""

REASON_CHARS = 400
"""Longest reason of a failure, with its cure, characters."""

NOTE_TOKENS = 60
"""Room for what is said below an answer about what is left, tokens."""


def refine_task(
    task: str,
    model: LanguageModel,
    commands: Commands,
    settings: RefineSettings,
    clock: Callable[[], float] = time.monotonic,
    watch: Watch | None = None,
) -> Refinement:
    """Compose skills for `task`; a failure is an answer, never an error.

    Args:
        task: What the user wants done.
        model: Asked one request at a time.
        commands: Of this refinement alone.
        settings: Bounds.
        clock: Monotonic time, seconds.
        watch: Called with each step when it is done.
    """
    agent = _SubAgent(task, model, commands, settings, clock, watch or _nobody)
    skills: tuple[Skill, ...] = ()
    failure = None
    try:
        skills = agent.run()
        if not skills:
            failure = "the model found no skill that helps"
    except RefineError as error:
        failure = str(error)
    except Exception as error:  # a model may answer what no type allows; the base must answer then
        log.exception("a refinement stopped; the base ranking answers")
        failure = f"it stopped with {type(error).__name__}"
    return Refinement(
        skills=skills,
        read={skill.id: skill.content_hash for skill in commands.read.values()},
        found=frozenset(commands.found),
        steps=tuple(agent.steps),
        cost=agent.budget.spent,
        failure=failure,
        lasting=commands.complete and failure is None,
    )


class _SubAgent:
    """One conversation with the model."""

    def __init__(
        self,
        task: str,
        model: LanguageModel,
        commands: Commands,
        settings: RefineSettings,
        clock: Callable[[], float],
        watch: Watch,
    ) -> None:
        self.steps: list[Step] = []
        self._watch = watch
        self._model = model
        self._commands = commands
        self._settings = settings
        self._clock = clock
        self._tools = tool_specs() if model.calls_tools else ()
        self.budget = Budget(settings, clock, self._tools, getattr(model, "price", None))
        self._talk = Conversation(opening(task, settings, tools=bool(self._tools)))
        self._last_call = ""
        self._problems: list[str] = []
        self._repaired = False
        self._reminded = False

    def run(self) -> tuple[Skill, ...]:
        """The skills that were handed in.

        Raises:
            RefineError: There are none.
        """
        while True:
            answer, cut_off = self._ask()
            self._talk.hear(answer)
            try:
                calls = read_calls(answer)
            except MalformedError as error:
                problem = cut_off or str(error)
                self._repair(problem)
                request = repair_request(problem, tools=bool(self._tools))
                self._talk.tell(request, self._note(request))
                continue
            skills = self._run_all(calls, cut_off)
            if skills is not None:
                return skills

    def _ask(self) -> tuple[Completion, str]:
        """What the model answers, and that it was cut off, if it was."""
        if self._last_call and not self._commands.read:
            raise RefineError(self._given_up)  # there is nothing that it could hand in
        self._make_room()
        messages, started = self._talk.messages, self._clock()
        longest = self.budget.next_answer(messages, last=bool(self._last_call))
        try:
            answer = self._model.complete(
                messages,
                tools=self._offered(),
                max_tokens=longest,
                timeout_s=self.budget.left_s,
            )
        except LanguageModelError as error:
            if self.budget.left_s <= 0:
                within = f"within {self._settings.seconds:g} s (setting `seconds`)"
                raise RefineError(f"the model did not answer {within}") from error
            raise RefineError(f"the model did not answer ({_reason(str(error))})") from error
        except Exception as error:  # a model of the user's may raise anything
            raise RefineError(f"the model raised {type(error).__name__}") from error
        self.budget.add(messages, answer, self._clock() - started)
        cut_off = answer.usage.output_tokens >= longest
        return answer, self._cut_off(longest) if cut_off else ""

    def _offered(self) -> Sequence[ToolSpec]:
        """All tools, on the last call the one that hands in."""
        return [tool for tool in self._tools if not self._last_call or tool.name == "finish"]

    def _make_room(self) -> None:
        """Shorten what was said where it leaves no room for the answer that hands in."""
        if self.budget.excess(self._talk.messages):
            self._talk.shorten_lists()
        excess = self.budget.excess(self._talk.messages)
        if excess:
            self._talk.cut(excess)

    def _cut_off(self, longest: int) -> str:
        setting = f"(setting `{self.budget.limit}`)"
        return f"The answer was cut off at {longest} tokens {setting}; write less."

    def _run_all(self, calls: Sequence[Call], cut_off: str) -> tuple[Skill, ...] | None:
        """Answer the calls in their order; the skills where one of them hands in some."""
        answers: list[Answer] = []
        mistakes: list[str] = []
        ignored = False
        room = self._room(len(calls))
        for place, call in enumerate(calls):
            if call.problem or call.name == "finish":
                skills, mistake = self._handed_in(call, cut_off)
                if skills is not None:
                    return skills
                mistakes.append(mistake)
                answers.append(Answer(f"Error: {escaped(mistake)} {_again(call)}"))
            elif self._commands.left > 0 and not self._last_call:
                share = max(room // (len(calls) - place), min(room, LEAST_PART))
                answers.append(self._command(call, share))
            else:
                ignored = True
                answers.append(Answer("Error: not run. Call finish now."))
            room -= estimate_tokens(answers[-1].text)
        if mistakes:
            self._repair(mistakes[0])  # however many they are, it is one answer
        if ignored and self._reminded:
            raise RefineError(self._given_up)
        self._reminded = self._reminded or ignored
        self._say(calls, answers)
        return None

    def _room(self, calls: int) -> int:
        """Tokens that the answers to so many calls may have together."""
        room = self.budget.room(self._talk.messages) - NOTE_TOKENS
        if room < calls * estimate_tokens("x" * self._settings.page_chars):
            self._talk.shorten_lists()
            room = self.budget.room(self._talk.messages) - NOTE_TOKENS
        return room

    def _command(self, call: Call, room: int) -> Answer:
        if room < LEAST_PART:
            answer = Answer("Error: not run, there is no room for its answer.", "no room")
            self._commands.used += 1
        else:
            answer = self._commands.run(call.name, call.arguments, room, self.budget.left_s)
        if answer.problem:
            self._problems.append(answer.problem)
        given = next((str(v) for v in call.arguments.values() if isinstance(v, str)), "")
        self._done(
            Step(plain_line(call.name, 40), plain_line(given, ARGUMENT_CHARS), answer.summary)
        )
        return answer

    def _handed_in(self, call: Call, cut_off: str) -> tuple[tuple[Skill, ...] | None, str]:
        """The skills of a call that hands in, or what is wrong with the call."""
        if call.problem:
            return None, cut_off or call.problem
        read, found = self._commands.read, self._commands.found
        try:
            drafts = checked_drafts(call.arguments.get("skills"), read, self._settings)
        except DraftError as error:
            self._done(Step("finish", "", f"not accepted: {_reason(str(error))}"))
            return None, str(error)
        names = ", ".join(draft.name for draft in drafts) or "nothing"
        self._done(Step("finish", "", f"handed in {names}"))
        return tuple(composed_skill(draft, read, found) for draft in drafts), ""

    def _done(self, step: Step) -> None:
        self.steps.append(step)
        self._watch(step)

    def _repair(self, problem: str) -> None:
        """Allow one malformed answer.

        Raises:
            RefineError: It is the second one.
        """
        if self._repaired:
            raise RefineError(f"the model's answer was malformed twice: {_reason(problem)}")
        self._repaired = True

    def _say(self, calls: Sequence[Call], answers: Sequence[Answer]) -> None:
        """Add the answers, below the last of them what is left."""
        note = self._note("\n".join(answer.text for answer in answers))
        self._talk.answer(calls, answers, note)

    def _note(self, said: str) -> str:
        """What is left once `said` is sent, or that it is the last call."""
        budget, commands = self.budget, self._commands
        self._last_call = self._last_call or self._bound_reached(said)
        if self._last_call:
            return finish_now(self._last_call.partition(" (")[0])
        return left_over(commands.left, max(budget.left_tokens, 0), max(budget.left_s, 0.0))

    @property
    def _given_up(self) -> str:
        """Why it ends; a higher bound does not help where most commands were of no use."""
        if not self._commands.left and 2 * len(self._problems) > self._commands.used:
            return _reason(self._problems[-1])
        return self._last_call

    def _bound_reached(self, said: str) -> str:
        """Why no command can be answered once `said` is sent, "" where one can."""
        if not self._commands.left:
            return (
                f"it would take more than {self._settings.commands} commands (setting `commands`)"
            )
        pending = ChatMessage("user", said)
        reason = self.budget.last_call((*self._talk.messages, pending))
        if reason and self._talk.shorten_lists():
            reason = self.budget.last_call((*self._talk.messages, pending))
        return reason


def _again(call: Call) -> str:
    form = "Call it again with a JSON object."
    return form if call.problem else "Put it right and finish again."


def _nobody(_step: Step) -> None:
    """Watches nothing."""


def _reason(text: str) -> str:
    """What goes on behind a colon, in the middle of a sentence."""
    return plain_line(text, REASON_CHARS).rstrip(".")
