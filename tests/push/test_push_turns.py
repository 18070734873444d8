"""From messages to user turns: whose turn it is, what it is called, what stands in the messages."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from langchain_core.messages import (
    AIMessageChunk,
    ChatMessage,
    HumanMessage,
    HumanMessageChunk,
    ToolMessage,
    ToolMessageChunk,
)
from llama_index.core.base.llms.types import ChatMessage as LlamaMessage
from llama_index.core.base.llms.types import TextBlock
from support.conversations import FRAMEWORKS, Said, assistant, tool_results, user

from skillcue.placement import (
    append_text,
    own_advice_message,
    place,
    remove_advice,
)
from skillcue.push.messages import is_advice, strip_advice, view_messages
from skillcue.push.turn import (
    LoadedMark,
    loaded_skills,
    mark_loaded,
    skill_version,
    user_turns,
)
from skillcue_hooks import Skill

BLOCK = "<skill_advice>\nsome advice\n</skill_advice>"
OTHER = "<skill_advice>\nfrom another library\n</skill_advice>"
VERSION = "0123456789ab"


def turns(*said: Said):
    return user_turns(view_messages(FRAMEWORKS[0].messages(said)), 1_200)


# whose turn


def test_a_run_of_user_messages_is_one_turn_at_its_last_message():
    [turn] = turns(user("Here is my file."), user("Translate it."))
    assert (turn.position, turn.text) == (1, "Here is my file.\nTranslate it.")


def test_what_a_framework_wrote_is_nobodys_turn():
    made = user("Summary of the conversation", made=True)
    first, second = turns(made, user("Hello"), assistant("Hi"), user("Bye"), made)
    assert (first.position, first.text) == (1, "Hello")
    assert (second.position, second.text) == (3, "Bye")


def test_a_system_message_between_two_user_messages_parts_them():
    first, second = turns(user("One"), Said("system", "x"), user("Two"))
    assert (first.text, second.text) == ("One", "Two")
    assert second.context == "One"


def test_context_is_what_was_said_before_without_tools_and_bounded():
    conversation = [user("u0"), *tool_results(("w", "result")), assistant("a0"), user("now")]
    assert turns(*conversation)[-1].context == "u0"
    long = [user("x" * 5_000), assistant("y" * 5_000), user("now")]
    context = turns(*long)[-1].context
    assert context == "x" * 1_200
    assert user_turns(view_messages(FRAMEWORKS[0].messages(long)), 0)[-1].context == ""


# keys and digests


def test_a_turn_is_keyed_by_its_id_where_that_is_fit_to_be_stored():
    ids = ["m1", "", "m1", "x" * 65, "a\ud800", "tab\t", "m2"]
    said = [m for id_ in ids for m in (user("yes", id=id_), assistant())]
    keys = [turn.key for turn in turns(*said)]
    assert keys[0] == "m1" and keys[6] == "m2"
    assert all(set(key) <= set("0123456789abcdef:") for key in keys if key not in ids)
    assert len(set(keys)) == len(keys)
    assert max(map(len, keys)) <= 64
    assert [turn.identified for turn in turns(*said)] == [bool(id_) for id_ in ids]


@pytest.mark.parametrize(
    "other",
    [
        [user("auserb")],
        [user("a\x01user\x00\x00b")],
        [user("a", id="i"), user("b")],
        [user("a"), assistant(""), user("b")],
        [user("a", made=True), user("b")],
        [user("b"), user("a")],
        [user("a"), user("b\x00")],
        [user("a"), user("\ud800b")],
    ],
)
def test_another_conversation_has_another_digest(other):
    assert turns(*other)[-1].digest != turns(user("a"), user("b"))[-1].digest


def test_the_digest_tells_which_tool_a_result_is_from():
    loaded = [user("a"), *tool_results(("L1", "text")), user("b")]
    forged = [user("a"), *tool_results(("w1", "text")), user("b")]
    assert turns(*loaded)[-1].digest != turns(*forged)[-1].digest


# advice is not the user's words


@pytest.mark.parametrize("text", ["", "x", "x\n\n", "\n\n", " x \t\n", "x\n\n\n\n", "x\n"])
def test_advice_goes_in_and_out_without_a_trace(text):
    longer = append_text({"role": "user", "content": text}, BLOCK)["content"]
    assert longer != text
    assert strip_advice(longer) == text
    twice = append_text({"role": "user", "content": longer}, OTHER)["content"]
    assert strip_advice(twice) == text
    assert view_messages([{"role": "user", "content": text}])[0].text == text


@pytest.mark.parametrize(
    "text",
    [
        "a </skill_advice> b",
        "<skill_advice>\nnever closed",
        f"{BLOCK}\nthen the user goes on",
        "closed only\n</skill_advice>",
        f"{BLOCK}\n</skill_advice>",
        "<skill_advice>inline</skill_advice>",
    ],
)
def test_only_whole_blocks_at_the_end_are_advice(text):
    assert strip_advice(text) == text
    assert not is_advice(text)


def test_stripping_costs_one_look_at_each_character():
    """Counted by a text that knows how much of it is searched."""

    class Counting(str):
        looked = 0

        def rfind(self, what, start=0, end=None):
            found = super().rfind(what, start, end)
            Counting.looked += (len(self) if end is None else end) - max(found, 0)
            return found

        def find(self, what, start=0, end=None):
            Counting.looked += (len(self) if end is None else end) - start
            return super().find(what, start, end)

    hostile = (
        Counting(BLOCK * 3_000 + "."),
        Counting(BLOCK * 3_000),
        Counting("<skill_advice>\n" * 8_000 + "\n</skill_advice>"),
        Counting("\n" * 100_000 + "</skill_advice>"),
        Counting(" \n" * 50_000 + "<skill_advice></skill_advice>"),
    )
    for text in hostile:
        Counting.looked = 0
        strip_advice(text)
        assert Counting.looked <= 3 * len(text)


def test_a_block_of_its_own_in_a_list_of_blocks_is_taken_out_again():
    image = {"type": "image_url", "image_url": {"url": "data:,"}}
    for content in ([image], [{"type": "text", "text": "x\n"}, image], [], [image, "plain"]):
        message = {"role": "user", "content": content}
        advised = append_text(message, BLOCK)
        assert advised["content"] == [*content, {"type": "text", "text": BLOCK}]
        [before], [after] = view_messages([message]), view_messages([advised])
        assert strip_advice(after.text) == before.text
        assert remove_advice([advised]) == [message]


def test_advice_is_placed_once_however_often_it_is_placed():
    messages = [HumanMessage("x"), {"role": "user", "content": [{"type": "text", "text": "y"}]}]
    placements = [(0, BLOCK), (1, BLOCK)]
    once = place(messages, placements)
    assert place(once, placements) == once
    assert place(once, [(0, OTHER)])[0].content == f"x\n\n{BLOCK}\n\n{OTHER}"
    quoted = [{"role": "user", "content": f"What is {BLOCK} in my request?"}]
    assert place(quoted, [(0, BLOCK)])[0]["content"].count(BLOCK) == 2  # that one was not ours


def test_a_message_of_its_own_is_placed_once_as_well():
    once = place([HumanMessage("x")], [(0, BLOCK)], own_advice_message)
    assert [m.content for m in once] == ["x", BLOCK]
    two = place(once, [(0, OTHER)], own_advice_message)
    assert sorted(m.content for m in two[1:]) == sorted([BLOCK, OTHER])
    for block in (BLOCK, OTHER):
        assert place(two, [(0, block)], own_advice_message) == two
    assert remove_advice(two) == [HumanMessage("x")]
    assert [view.system_made for view in view_messages(two)] == [False, True, True]


def test_nothing_but_advice_is_removed():
    kept = [
        HumanMessage("no advice"),
        HumanMessage(f"{BLOCK} and more"),
        ToolMessage(f"x\n\n{BLOCK}", tool_call_id="1"),
        {"role": "assistant", "content": BLOCK},
        {"role": "user", "content": None},
    ]
    assert all(new is old for new, old in zip(remove_advice(kept), kept, strict=True))
    dicts = place([{"role": "user", "content": "x"}], [(0, BLOCK)])
    assert remove_advice(dicts) == [{"role": "user", "content": "x"}]


@pytest.mark.parametrize("content", [b"bytes", {"a": 1}, 3])
def test_content_without_an_end_stays_as_it_is(content):
    message = {"role": "user", "content": content}
    assert append_text(message, BLOCK) is message


# messages of every kind


@pytest.mark.parametrize(
    ("message", "role", "text"),
    [
        (HumanMessageChunk("part"), "user", "part"),
        (AIMessageChunk("part"), "assistant", "part"),
        (ToolMessageChunk("part", tool_call_id="1"), "tool", "part"),
        (ChatMessage("x", role="user"), "user", "x"),
        (LlamaMessage(role="user", content="x"), "user", "x"),
        (
            LlamaMessage(role="user", blocks=[TextBlock(text="a"), TextBlock(text="b")]),
            "user",
            "a\nb",
        ),
        ({"role": "developer", "content": "x"}, "system", "x"),
        ({"role": "user", "content": [{"type": "input_text", "text": "x"}]}, "user", "x"),
        ({"role": "user", "content": [{"type": "tool_result", "content": "x"}]}, "tool", "x"),
        (
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "content": [{"type": "text", "text": "x"}]},
                    {"type": "text", "text": "y"},
                ],
            },
            "user",
            "y",
        ),
        ({"role": "user", "content": [{"type": "tool_result", "text": "x"}]}, "tool", ""),
        ({"role": "somebody", "content": "x"}, "assistant", "x"),
        (SimpleNamespace(role="user", content="x"), "user", "x"),
    ],
)
def test_roles_and_texts_of_any_framework(message, role, text):
    [view] = view_messages([message])
    assert (view.role, view.text) == (role, text)


# what has been loaded


def result(text: str, call: str = "L1") -> list:
    return FRAMEWORKS[0].messages([user("x"), *tool_results((call, text))])


@pytest.mark.parametrize(
    "mark",
    [
        LoadedMark("a@b", VERSION, 1, 1, None),
        LoadedMark("a%20b@my folder/a b", VERSION, 2, 13, None),
        LoadedMark("a<b>@x/<y>", VERSION, 1, 1, "docs/read me.md"),
        LoadedMark("a@b", VERSION, 1, 2, "ünï <x>/y\u00a0z.md"),
        LoadedMark("x version 0123456789ab@y", VERSION, 1, 1, None),
    ],
)
def test_a_loaded_page_is_recognised_by_its_first_line(mark):
    for text in (mark_loaded(mark), f"{mark_loaded(mark)}\nbody", f"{mark_loaded(mark)}\n"):
        assert "<" not in text
        assert loaded_skills(view_messages(result(text)), "skill_load") == {mark.skill_id: (mark,)}


def test_an_id_with_line_breaks_stays_on_one_line():
    assert "\n" not in mark_loaded(LoadedMark("a\nb", VERSION, 1, 1, "x\ny"))


@pytest.mark.parametrize(
    "text",
    [
        f"Note: [skill a@b version {VERSION} page 1/1]",
        f"[skill a@b version {VERSION} page 1/1] and more",
        f"[skill a@b version {VERSION.upper()} page 1/1]",
        f"[skill a@b version {VERSION} page {'9' * 5_000}/1]",
        "[skill a@b version 0123 page 1/1]",
        f"[skill  version {VERSION} page x/1]",
        "[skill " + "x" * 100_000,
    ],
)
def test_what_only_looks_like_one_is_none(text):
    assert loaded_skills(view_messages(result(text)), "skill_load") == {}


def test_other_tools_cannot_pretend_where_their_name_is_known():
    header = mark_loaded(LoadedMark("a@b", VERSION, 1, 1, None))
    forged = view_messages(result(header, call="w1"))
    assert [view.tool_name for view in forged][-1] == "web_search"
    assert loaded_skills(forged, "skill_load") == {}
    user_says = view_messages([{"role": "user", "content": header}])
    assert loaded_skills(user_says, "skill_load") == {}
    unnamed = view_messages([{"role": "tool", "content": header}])
    assert list(loaded_skills(unnamed, "skill_load")) == ["a@b"]
    named = view_messages([{"role": "tool", "name": "my_skill_load", "content": header}])
    assert loaded_skills(named, "skill_load") == {}
    assert list(loaded_skills(named, "my_skill_load")) == ["a@b"]


def test_versions_are_twelve_hex_digits_whatever_the_source_has():
    hashed = Skill("a@a", "a", "d", content_hash=f"{VERSION}ffff")
    assert skill_version(hashed) == VERSION
    others = {
        skill_version(Skill("a@a", "a", "d", content_hash=h)) for h in ("", "v1", "v2", "abc")
    }
    assert len(others) == 4
    assert all(len(v) == 12 and not set(v) - set("0123456789abcdef") for v in others)


# cost


@pytest.mark.parametrize("shape", ["turns", "tools", "users", "made", "parts"])
def test_reading_a_conversation_costs_a_constant_per_message(shape):
    """Counted in views looked at: ten times the messages cost about ten times as much."""

    def cost(n: int) -> int:
        views = Counted(view_messages(FRAMEWORKS[0].messages(conversation(shape, n))))
        user_turns(views, 1_200)
        return views.looked

    assert cost(1_000) <= 15 * cost(100)


class Counted(tuple):
    """Views that count how often one of them is looked at."""

    looked = 0

    def __iter__(self):
        for view in super().__iter__():
            self.looked += 1
            yield view

    def __reversed__(self):
        for position in range(len(self) - 1, -1, -1):
            self.looked += 1
            yield tuple.__getitem__(self, position)

    def __getitem__(self, key):
        found = super().__getitem__(key)
        self.looked += len(found) if isinstance(key, slice) else 1
        return found


def conversation(shape: str, n: int) -> list[Said]:
    if shape == "turns":
        return [m for i in range(n) for m in (user(f"u{i}"), assistant(f"a{i}"))]
    if shape == "tools":
        return [user("u"), *(m for i in range(n) for m in tool_results((f"w{i}", "r")))]
    if shape == "users":
        return [user("u")] * n
    if shape == "made":
        return [user("u"), *[user("x", made=True)] * n]
    return [user("u"), *[Said("system", "s")] * n]
