"""What push reads in a LlamaIndex request, and what it puts into the copy."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llama_index.core.base.llms.types import ChatMessage, ImageBlock, TextBlock
from llama_index.core.prompts import PromptTemplate, RichPromptTemplate

from skillcue.llamaindex_messages import append_text, place_advice, read_request
from skillcue.push.messages import view_messages
from skillcue.push.render import advice_block
from skillcue.push.turn import user_turns

STATE_PROMPT = PromptTemplate("Current state:\n{state}\n\nCurrent message:\n{msg}\n")
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


def user(text: str) -> ChatMessage:
    return ChatMessage(role="user", content=text)


def assistant(text: str) -> ChatMessage:
    return ChatMessage(role="assistant", content=text)


def said(view) -> list[str]:
    """Texts of the user messages that are the user's."""
    return [
        m["content"] for m in view.messages if isinstance(m, dict) and not m["additional_kwargs"]
    ]


def test_system_messages_are_left_out_and_positions_map_back():
    request = [ChatMessage(role="system", content="S"), user("a"), assistant("b"), user("c")]
    view = read_request(request, "c", None)
    assert view.positions == (1, 2, 3)
    assert said(view) == ["a", "c"]
    placed = place_advice(request, view, [(0, "A"), (2, "C")], own_message=False)
    assert [m.content for m in placed] == ["S", "a\n\nA", "b", "c\n\nC"]
    assert [m.content for m in request] == ["S", "a", "b", "c"]


@given(state=st.dictionaries(texts, texts, max_size=3), message=texts, older=texts)
def test_a_state_prompt_is_taken_off_again(state, message, older):
    wrapped = STATE_PROMPT.format(state=state, msg=message)
    old = STATE_PROMPT.format(state=state, msg=older)
    request = [user(old), assistant("x"), user(wrapped)]
    assert said(read_request(request, None, STATE_PROMPT)) == [older, message]
    assert said(read_request(request, message, STATE_PROMPT)) == [older, message]


@given(message=texts)
def test_without_a_state_prompt_a_message_is_what_it_is(message):
    request = [user(message)]
    assert said(read_request(request, message, STATE_PROMPT)) == [message]
    assert said(read_request(request, None, STATE_PROMPT)) == [message]


@pytest.mark.parametrize(
    "template",
    [
        RichPromptTemplate("They say {{ msg }} while {{ state }} holds."),
        PromptTemplate("{msg} [{state}]"),
        PromptTemplate("State {state}. Also {state}. {msg}"),
        PromptTemplate("no variables"),
    ],
)
def test_any_template_gives_the_newest_message_as_it_was_written(template):
    wrapped = template.format(state={"a": 1}, msg="fill in a form")
    view = read_request(
        [user("before"), assistant("ok"), user(wrapped)], "fill in a form", template
    )
    expected = "fill in a form" if "fill" in wrapped else wrapped
    assert said(view) == ["before", expected]


def test_a_retry_repeats_the_message_and_complains_in_user_position():
    request = [user("old"), assistant("x"), user("q"), user("q"), assistant("bad"), user("Error")]
    assert said(read_request(request, "q", None)) == ["old", "q"]


def test_the_same_words_twice_are_two_turns():
    request = [user("yes"), assistant("sure?"), user("yes")]
    assert said(read_request(request, "yes", None)) == ["yes", "yes"]
    request = [user("yes"), user("yes")]
    assert said(read_request(request, "yes", None)) == ["yes", "yes"]


def test_results_of_executed_code_are_nobodys_turn():
    result = user("Result of executing the code given:\n\n42")
    request = [user("q"), assistant("code"), result, assistant("It is 42."), user("thanks")]
    assert said(read_request(request, "thanks", None)) == ["q", "thanks"]


@pytest.mark.parametrize("blocks", [1, 2])
def test_advice_in_a_stored_request_is_not_what_the_user_wrote(blocks):
    message = ChatMessage(role="user", blocks=[TextBlock(text="q")] * blocks)
    stored = append_text(message, advice_block("- a skill"))
    [turn] = user_turns(view_messages(read_request([stored], None, None).messages), 0)
    [plain] = user_turns(view_messages(read_request([message], None, None).messages), 0)
    assert (turn.text, turn.key, turn.digest) == (plain.text, plain.key, plain.digest)


def test_what_the_application_marks_as_nobodys_stays_marked():
    reminder = ChatMessage(role="user", content="be brief", additional_kwargs={"lc_source": "app"})
    assert said(read_request([user("q"), assistant("x"), reminder], None, None)) == ["q"]


@pytest.mark.parametrize("text", ["", "hello"])
def test_one_text_block_stays_one(text):
    message = ChatMessage(role="user", content=text, additional_kwargs={"k": 1})
    longer = append_text(message, "A")
    assert [b.text for b in longer.blocks] == [f"{text}\n\nA" if text else "A"]
    assert longer.additional_kwargs == {"k": 1}
    assert message.content == text


def test_other_blocks_get_one_more_at_the_end():
    image = ImageBlock(url="https://example.org/x.png")
    for blocks in ([], [image], [TextBlock(text="a"), image], [TextBlock(text="a")] * 2):
        message = ChatMessage(role="user", blocks=blocks)
        longer = append_text(message, "A")
        assert longer.blocks[:-1] == blocks
        assert longer.blocks[-1] == TextBlock(text="A")
        assert message.blocks == blocks
