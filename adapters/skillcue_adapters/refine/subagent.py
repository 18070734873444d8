"""The sub-agent: asks the model, runs its commands, checks what it hands in.

It ends after a bounded number of requests: one a command at most, one to finish, one to put a
malformed answer right, one to be told that no command is left.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence

from skillcue_adapters.refine.budget import Budget
from skillcue_adapters.refine.commands import Commands
from skillcue_adapters.refine.composed import composed_skill
from skillcue_adapters.refine.drafts import DraftError, checked_drafts
from skillcue_adapters.refine.failure import RefineError
from skillcue_adapters.refine.prompt import opening, repair_request, tool_specs
from skillcue_adapters.refine.protocol import Call, MalformedError, read_calls
from skillcue_adapters.refine.quoting import one_line
from skillcue_adapters.refine.settings import RefineSettings
from skillcue_adapters.refine.store import Refinement, Step
from skillcue_hooks.contracts import Skill
from skillcue_hooks.errors import LanguageModelError
from skillcue_hooks.language import ChatMessage, Completion
from skillcue_hooks.protocols import LanguageModel

__all__ = ["refine_task"]

log = logging.getLogger("skillcue.refine")

ARGUMENT_CHARS = 200
"""Longest argument that a step records, characters."""

REASON_CHARS = 400
"""Longest reason of a failure, with its cure, characters."""


def refine_task(
    task: str,
    model: LanguageModel,
    commands: Commands,
    settings: RefineSettings,
    clock: Callable[[], float] = time.monotonic,
) -> Refinement:
    """Compose skills for `task`; a failure is an answer, never an error.

    Args:
        task: What the user wants done.
        model: Asked one request at a time.
        commands: Of this refinement alone.
        settings: Bounds.
        clock: Monotonic time, seconds.
    """
    agent = _SubAgent(task, model, commands, settings, clock)
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
    ) -> None:
        self.steps: list[Step] = []
        self.budget = Budget(settings, clock)
        self._model = model
        self._commands = commands
        self._settings = settings
        self._tools = tool_specs() if model.calls_tools else ()
        self._messages = list(opening(task, settings, tools=bool(self._tools)))
        self._repaired = False
        self._reminded = False

    def run(self) -> tuple[Skill, ...]:
        """The skills that were handed in.

        Raises:
            RefineError: There are none.
        """
        while True:
            answer = self._ask()
            self._messages.append(ChatMessage("assistant", answer.text, answer.tool_calls))
            try:
                calls = read_calls(answer)
            except MalformedError as error:
                self._repair(str(error))
                request = repair_request(str(error), tools=bool(self._tools))
                self._messages.append(ChatMessage("user", request))
                continue
            skills = self._run_all(calls)
            if skills is not None:
                return skills

    def _ask(self) -> Completion:
        longest = self.budget.next_answer(self._messages)
        try:
            answer = self._model.complete(
                tuple(self._messages),
                tools=self._tools,
                max_tokens=longest,
                timeout_s=self.budget.left_s,
            )
        except LanguageModelError as error:
            raise RefineError(f"the model did not answer ({_reason(str(error))})") from error
        except Exception as error:  # a model of the user's may raise anything
            raise RefineError(f"the model raised {type(error).__name__}") from error
        self.budget.add(self._messages, answer)
        return answer

    def _run_all(self, calls: Sequence[Call]) -> tuple[Skill, ...] | None:
        """Answer the calls in their order; the skills where one of them hands in some."""
        answers: list[str] = []
        ignored = False
        for call in calls:
            if call.name == "finish":
                skills, problem = self._finish(call)
                if skills is not None:
                    return skills
                answers.append(problem)
            elif self._commands.left > 0:
                answers.append(self._command(call))
            else:
                ignored = True
                answers.append("Error: no command is left. Call finish now.")
        if ignored and self._reminded:
            raise RefineError(f"it wanted more than {self._settings.commands} commands")
        self._reminded = self._reminded or ignored
        self._say(calls, answers)
        return None

    def _command(self, call: Call) -> str:
        answer = self._commands.run(call.name, call.arguments)
        given = next((str(v) for v in call.arguments.values() if isinstance(v, str)), "")
        name = one_line(call.name, 40)
        self.steps.append(Step(name, one_line(given, ARGUMENT_CHARS), answer.summary))
        return f"{answer.text}\n({self._commands.left} commands left)"

    def _finish(self, call: Call) -> tuple[tuple[Skill, ...] | None, str]:
        read = self._commands.read
        try:
            drafts = checked_drafts(call.arguments.get("skills"), read, self._settings)
        except DraftError as error:
            self.steps.append(Step("finish", "", f"not accepted: {_reason(str(error))}"))
            self._repair(str(error))
            return None, f"Error: {error} Put it right and finish again."
        names = ", ".join(draft.name for draft in drafts) or "nothing"
        self.steps.append(Step("finish", "", f"handed in {names}"))
        return tuple(composed_skill(draft, read) for draft in drafts), ""

    def _repair(self, problem: str) -> None:
        """Allow one mistake.

        Raises:
            RefineError: It is the second one.
        """
        if self._repaired:
            raise RefineError(f"the model's answer was malformed twice: {_reason(problem)}")
        self._repaired = True

    def _say(self, calls: Sequence[Call], answers: Sequence[str]) -> None:
        """Tool calls are answered one by one, JSON commands in one message."""
        if calls[0].id:
            for call, text in zip(calls, answers, strict=True):
                self._messages.append(ChatMessage("tool", text, tool_call_id=call.id))
        else:
            self._messages.append(ChatMessage("user", "\n\n".join(answers)))


def _reason(text: str) -> str:
    """What goes on behind a colon, in the middle of a sentence."""
    return one_line(text, REASON_CHARS).rstrip(".")
