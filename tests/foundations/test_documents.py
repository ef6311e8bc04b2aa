import math

import pytest

from grassvine.foundations.documents import parse_json, parse_toml


def test_plain_documents_are_read() -> None:
    text = '{"a": [1, 2.5, "\\ud83d\\ude00", NaN, -Infinity], "b": null}'
    for given in (text, text.encode(), b"\xef\xbb\xbf" + text.encode()):
        found = parse_json(given)
        assert found["a"][:3] == [1, 2.5, "\U0001f600"] and math.isnan(found["a"][3])
        assert found["a"][4] == -math.inf and found["b"] is None
    assert parse_toml("a = [1, 2]") == {"a": [1, 2]}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[" * 100_000, "it is nested too deeply"),
        ('{"a":' * 100_000, "it is nested too deeply"),
        ("[1e999]", "1e999 is too large for a float"),
        ("[-1e999]", "-1e999 is too large for a float"),
        ('{"\\udc00": 1}', r"'\\udc00' contains half a surrogate pair"),
        ('[["\\ud800"]]', r"'\\ud800' contains half a surrogate pair"),
        ("9" * 5000, "an integer has thousands of digits"),
        ("{", "Expecting property name"),
        (b'"\xed\xa0\x80"', "can't decode byte 0xed"),
        ('[{"a": {"b": 1, "c": 2, "b": 1}}]', "the key 'b' occurs twice in one object"),
    ],
)
def test_other_json_is_a_value_error(text: str | bytes, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        parse_json(text)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (f"a = {'[' * 10_000}", "it is nested too deeply"),
        (f"a = {'{a=' * 10_000}", "it is nested too deeply"),
        (f"a = {'9' * 5000}", "an integer has thousands of digits"),
        ("a = ", "Invalid value"),
    ],
)
def test_other_toml_is_a_value_error(text: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        parse_toml(text)
