"""Texts are rendered in the current language, from a template and values."""

import gettext
import json
import math
import pickle
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from td3core import text
from td3core.text import SettingName, Text, from_plain, plain, tr


class Reversed(gettext.NullTranslations):
    """A language of its own: known templates have a translation, others have none."""

    known = {
        "{name} cannot be {value:g}.": "{value:g} is not for {name}.",
        "{n} run": "one run it is",
        "broken {name}": "{nothing:d}",
        "": "the header",
    }

    def gettext(self, message: str) -> str:
        return self.known.get(message, message)

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        return self.known.get(msgid1, msgid1) if n == 1 else "many: {n}"


@pytest.fixture
def reversed_language() -> Iterator[None]:
    text.install(Reversed())
    yield
    text.install(gettext.NullTranslations())


def test_a_text_is_formatted_when_it_is_shown() -> None:
    assert str(Text("{name} cannot be {value:g}.", name="tau", value=7.0)) == "tau cannot be 7."
    assert str(Text("a {literal} brace")) == "a {literal} brace"
    assert tr("Train") == "Train"


def test_the_same_text_is_shown_in_another_language(reversed_language: None) -> None:
    wrong = Text("{name} cannot be {value:g}.", name="tau", value=7.0)
    assert str(wrong) == "7 is not for tau."
    assert str(Text("Why: {why}", why=wrong)) == "Why: 7 is not for tau."
    assert tr("") == ""


def test_a_count_chooses_the_wording(reversed_language: None) -> None:
    count: Callable[[int], Text] = lambda n: Text.counted("{n} run", "{n} runs", n=n)  # noqa: E731
    assert [str(count(n)) for n in (1, 2)] == ["one run it is", "many: 2"]
    text.install(gettext.NullTranslations())
    assert [str(count(n)) for n in (0, 1, 2)] == ["0 runs", "1 run", "2 runs"]


def test_scripts_and_files_get_english(reversed_language: None) -> None:
    inner = Text("{name} cannot be {value:g}.", name="tau", value=7.0)
    joined = Text.joined([inner, Text("Stop.")])
    assert str(joined) == "7 is not for tau. Stop."
    assert joined.english == "tau cannot be 7. Stop."
    assert Text.counted("{n} run", "{n} runs", n=1).english == "1 run"


def test_a_broken_translation_falls_back_to_english(reversed_language: None) -> None:
    assert str(Text("broken {name}", name="tau")) == "broken tau"


def test_texts_are_equal_by_template_and_values_and_survive_a_pickle() -> None:
    one = Text("{a}", a=[1])
    assert one == Text("{a}", a=[1]) != Text("{a}", a=[2])
    assert len({one, Text("{a}", a=[1])}) == 1
    assert one != "[1]"
    counted = Text.counted("{n} run", "{n} runs", n=2)
    assert pickle.loads(pickle.dumps(counted)) == counted != Text("{n} run", n=2)


VALUES = st.none() | st.booleans() | st.integers() | st.text() | st.floats()


@given(template=st.text(), values=st.lists(VALUES, max_size=4), plural=st.none() | st.text())
def test_a_text_comes_back_from_json_as_it_was(
    template: str, values: list[object], plural: str | None
) -> None:
    named = {f"v{place}": value for place, value in enumerate(values)}
    # Braces of the template would ask for values that are not there.
    plain_template = template.translate({ord("{"): None, ord("}"): None})
    text_in = Text(plain_template + "".join(f"{{{name}}}" for name in named), **named)
    if plural is not None:
        text_in = Text.counted(str(text_in.template), text_in.template, n=2, **named)
    found = text.from_plain(json.loads(json.dumps(text.plain(text_in))))
    assert found.english == text_in.english
    # No NaN equals another.
    assert found == text_in or any(value != value for value in values)


@pytest.mark.parametrize(
    "damage",
    [
        *(None, 3, [], {}),
        {"template": 1, "values": {}},
        {"template": "{x.y}", "values": {"x": 1}},
        {"template": "{y}", "values": {"x": 1}},
        {"template": "{x:>999999999}", "values": {"x": 1}},
        {"template": "{x", "values": {"x": 1}},
        {"template": "{x}", "values": {"x": []}},
        {"template": "{x}", "values": {"x": {"number": "much"}}},
    ],
)
def test_what_is_no_text_is_refused(damage: object) -> None:
    with pytest.raises(ValueError, match=r"text|string"):
        text.from_plain(damage)


@pytest.mark.parametrize("value", [math.nan, -math.inf, np.float32("nan"), np.float32(0.5)])
def test_a_number_that_is_formatted_comes_back_from_a_file(value: float) -> None:
    refused = Text("It cannot be {value:.3g}, unlike {other:,}.", value=value, other=np.int64(1000))
    written = json.dumps(plain(refused), allow_nan=False)
    assert from_plain(json.loads(written)).english == refused.english


def test_an_infinity_that_an_earlier_version_wrote_as_a_word_is_read() -> None:
    assert from_plain({"template": "not {x}", "values": {"x": "-inf"}}).english == "not -inf"


def test_a_string_of_an_earlier_version_is_a_text() -> None:
    assert str(text.from_plain("It {broke}.")) == "It {broke}."


def write_catalogue(folder: Path, language: str, known: dict[str, str]) -> None:
    """Write a .mo file as ``msgfmt`` does."""
    pairs = sorted((key.encode(), value.encode()) for key, value in known.items())
    place, table, data = 28 + 16 * len(pairs), {0: [], 1: []}, b""
    for side in (0, 1):
        for pair in pairs:
            table[side].append(struct.pack("<II", len(pair[side]), place + len(data)))
            data += pair[side] + b"\0"
    head = struct.pack("<7I", 0x950412DE, 0, len(pairs), 28, 28 + 8 * len(pairs), 0, 0)
    path = folder / "translations" / language / "LC_MESSAGES" / f"{text.DOMAIN}.mo"
    path.parent.mkdir(parents=True)
    path.write_bytes(head + b"".join(table[0] + table[1]) + data)


@pytest.fixture
def catalogues(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for name in ("LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(text, "files", lambda _: tmp_path)
    header = "Content-Type: text/plain; charset=UTF-8\n"
    write_catalogue(tmp_path, "de", {"": header, "Train": "Trainieren"})
    yield tmp_path
    text.install(gettext.NullTranslations())


@pytest.mark.parametrize(
    ("variable", "wanted", "chosen", "shown"),
    [
        ("LANG", "de_AT.UTF-8", "de", "Trainieren"),
        ("LANGUAGE", "xx:de", "de", "Trainieren"),
        ("LANGUAGE", "en_GB:de", "en", "Train"),
        ("LC_ALL", "C.UTF-8", "en", "Train"),
        ("LANG", "xx_XX", "en", "Train"),
        ("LANG", "", "en", "Train"),
    ],
)
def test_the_environment_chooses_the_language(
    catalogues: Path,
    monkeypatch: pytest.MonkeyPatch,
    variable: str,
    wanted: str,
    chosen: str,
    shown: str,
) -> None:
    monkeypatch.setenv(variable, wanted)
    assert (text.choose_language(), tr("Train")) == (chosen, shown)


def test_a_damaged_catalogue_leaves_texts_english(
    catalogues: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = next(catalogues.rglob("*.mo"))
    monkeypatch.setenv("LANG", "de")
    for damaged in (b"", b"no catalogue", path.read_bytes()[:30]):
        path.write_bytes(damaged)
        assert (text.choose_language(), tr("Train")) == ("en", "Train")


REFUSED = Text(
    "{name} cannot be {value}. {reason}",
    name=SettingName("actor_lr"),
    value="actor_lr",
    reason=Text("{key} is off", key=SettingName("keep_replay")),
)


def test_a_terminal_reads_the_keys_of_settings_and_a_window_what_it_calls_them() -> None:
    assert str(REFUSED) == "actor_lr cannot be actor_lr. keep_replay is off"
    shouted = REFUSED.with_settings(str.upper)
    assert str(shouted) == "ACTOR_LR cannot be actor_lr. KEEP_REPLAY is off"


def test_the_setting_of_a_message_is_the_first_that_its_template_names() -> None:
    message = Text("{a} or {b}", b=SettingName("tau"), a="gamma")
    assert message.setting == "tau"
    assert Text("tau is {value}", value="tau").setting is None
    assert Text("{tau}").setting is None


def test_a_file_keeps_settings_as_strings_and_says_which_values_they_are() -> None:
    written = json.loads(json.dumps(plain(REFUSED)))
    assert written["values"]["name"] == "actor_lr"
    found = from_plain(written)
    assert found == REFUSED
    assert str(found.with_settings(str.upper)) == str(REFUSED.with_settings(str.upper))
    del written["settings"]  # as an earlier version wrote it
    assert str(from_plain(written).with_settings(str.upper)).startswith("actor_lr cannot")


@pytest.mark.parametrize("damage", [7, "name", ["other", 3, None, []], {"name": 1}])
def test_a_file_that_names_settings_wrongly_is_read_without_them(damage: object) -> None:
    found = from_plain(plain(REFUSED) | {"settings": damage})
    assert found == REFUSED
    assert found.setting is None
