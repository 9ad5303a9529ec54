"""Which language a question is in; the library's abstracts are taken to be in English."""

import functools
from typing import Any

from paper_qa.words import WORD, is_function_word

ENGLISH = "en"
NAMES = {
    "ar": "Arabic",
    "cs": "Czech",
    "de": "German",
    "el": "Greek",
    "en": "English",
    "es": "Spanish",
    "fa": "Persian",
    "fr": "French",
    "he": "Hebrew",
    "hi": "Hindi",
    "id": "Indonesian",
    "it": "Italian",
    "ja": "Japanese",
    "ko": "Korean",
    "nl": "Dutch",
    "pl": "Polish",
    "pt": "Portuguese",
    "ru": "Russian",
    "sv": "Swedish",
    "tr": "Turkish",
    "uk": "Ukrainian",
    "vi": "Vietnamese",
    "zh": "Chinese",
}
MIN_PROBABILITY = 0.8  # of another language; names and terms alone are in none, or in English


@functools.lru_cache(maxsize=256)
def language_of(text: str) -> str:
    """Return the code (ISO 639-1) of the language, English where it is not clearly another."""
    words = [match[0].lower() for match in WORD.finditer(text)]
    if text.isascii() and 3 * sum(map(is_function_word, words)) >= len(words):
        return ENGLISH  # without loading anything: nearly all questions are
    language, probability = _identifier().classify(text)
    return str(language) if probability >= MIN_PROBABILITY else ENGLISH


@functools.cache
def _identifier() -> Any:
    """Return the identifier, which takes half a second to load."""
    from py3langid.langid import (  # noqa: PLC0415 - most questions do without
        MODEL_FILE,
        LanguageIdentifier,
    )

    identifier: Any = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    identifier.set_languages(list(NAMES))
    return identifier
