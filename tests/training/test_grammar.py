"""Templates: choices that nest, slots that stay until they are filled, patterns of all texts."""

import random
import re

import pytest

from training.coach.corpus import grammar, noise

WORDS = noise.Words(("So, ",), (" Thanks.",), ("really",), {"brake": ("stop",)})
NESTED = "[Any|Got [any|some]] tips[| for {c}]?"
EVERY = {
    f"{head} tips{tail}?" for head in ("Any", "Got any", "Got some") for tail in ("", " for {c}")
}


def test_a_template_gives_each_of_its_texts_and_no_other() -> None:
    rng = random.Random(1)
    assert {grammar.expand(NESTED, rng) for _ in range(300)} == EVERY


@pytest.mark.parametrize("text", ["[a|b", "a]b", "[a|[b]", "]"])
def test_a_bracket_without_its_partner_is_refused(text: str) -> None:
    with pytest.raises(grammar.TemplateError, match="bracket"):
        grammar.parse(text)


def test_the_pattern_of_a_template_matches_its_texts_only() -> None:
    pattern = re.compile(grammar.pattern(NESTED, {"c": "turn [0-9]+"}))
    assert all(pattern.fullmatch(text.replace("{c}", "turn 7")) for text in EVERY)
    assert not pattern.fullmatch("Any tips for turn seven?")
    assert not pattern.fullmatch("Some tips?")


def test_a_slot_without_a_value_is_an_error_and_not_an_empty_place() -> None:
    assert grammar.fill("at {c}: {v}", {"c": "T1", "v": "88"}) == "at T1: 88"
    with pytest.raises(KeyError):
        grammar.fill("at {c}", {})


def test_noise_changes_words_but_never_a_slot() -> None:
    rng = random.Random(3)
    text = "Where should I brake for {c}, at which marker?"
    typed = [noise.disturb(text, rng, WORDS)[0] for _ in range(300)]
    assert len(set(typed)) > 50
    assert all("{c}" in version for version in typed)
