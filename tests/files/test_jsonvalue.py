"""JSON values that are handled in C, because a state can hold thousands of them."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from holdfast.files import jsonvalue


@given(st.text(st.sampled_from('a ",\\/\n\x7fé[\u2028')), st.text(max_size=3))
def test_texts_between_quotes_are_json_if_they_are_plain(one: str, other: str) -> None:
    """A letter to escape, or a quote of their own, shows; what is plain is never taken for anything else."""
    text = f'["{one}", "{other}"]'
    if jsonvalue.is_plain(text, 4):
        assert text == json.dumps([one, other])
    else:
        assert not all(each.isascii() and each.isprintable() and {'"', "\\"}.isdisjoint(each) for each in (one, other))
