"""A language model that rewords."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from skillcue_hooks.language import ChatMessage, Completion

__all__ = ["WordyModel"]


class WordyModel:
    """Rewords whatever it is asked, the same way each time."""

    fingerprint = "wordy"
    calls_tools = False

    def complete(self, messages: Sequence[ChatMessage], **_: Any) -> Completion:
        found = re.search(r"<query>\n(.*?)\n</query>", messages[1].text, re.DOTALL)
        assert found
        words = json.loads(found[1]).split()[:40] or ["nothing"]
        turned = " ".join(words[::-1])
        return Completion(json.dumps({"variants": [f"please {turned} soup", f"how to {turned}"]}))
