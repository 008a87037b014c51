"""Characters that a reader doesn't see: the one list for all that cleans text or escapes it."""

from __future__ import annotations

import re

INVISIBLE = (
    "\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff"
    "\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff"
)
"""Characters without a shape, for use in a character class.

They are soft hyphens, fillers, zero-width spaces and joiners, direction marks, variation selectors and tags.
"""
CONTROL = "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"
"""Control characters, for use in a character class; tabs and line breaks aren't among them."""
# Emoji and letters that aren't Latin may be joined or followed by a selector of their style (👩‍💻, ❤️, می‌خواهم, 1️⃣).
_JOINED = f"[^\x00-\u024f\u2028\u2029\ud800-\udfff{INVISIBLE}]"
HIDDEN = re.compile(
    f"(?![\u200c\u200d\ufe0e\ufe0f])[{INVISIBLE}]"
    f"|(?<!{_JOINED})(?<!{_JOINED}[\ufe0e\ufe0f])[\u200c\u200d]|[\u200c\u200d](?!{_JOINED})"
    f"|(?<!{_JOINED})(?<![\xa9\xae])[\ufe0e\ufe0f](?!\u20e3)"
)
"""An invisible character, except the joiners and selectors that emoji and letters need."""
