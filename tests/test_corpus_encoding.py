import logging

import pytest

from paper_qa.corpus import read_papers
from paper_qa.errors import FormatError

WESTERN = "Café papers\n\nThe naïve model of Peña — “smart” quotes — loses 3 µm at 25 °C.\n"
CHINESE = (
    "ICML 2024 论文列表\n\n我们提出了一种新的方法，用于训练大型语言模型。\n\nWe train models.\n"
)


def write(tmp_path, data):
    path = tmp_path / "papers.txt"
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "utf-32"])
@pytest.mark.parametrize("text", [WESTERN, CHINESE + "a" * 100])
def test_unicode_is_read_with_and_without_its_mark(encoding, text, tmp_path, caplog):
    expected = text.split("\n")[2]

    papers = list(read_papers(write(tmp_path, text.encode(encoding))))

    assert papers[0].abstract == expected
    assert caplog.text == ""


@pytest.mark.parametrize(("text", "encoding"), [(WESTERN, "cp1252"), (CHINESE, "gb18030")])
def test_an_older_encoding_is_guessed_and_said(text, encoding, tmp_path, caplog):
    with caplog.at_level(logging.WARNING):
        papers = list(read_papers(write(tmp_path, text.encode(encoding))))

    assert papers[0].abstract == text.split("\n")[2]
    assert f"papers.txt: not UTF-8; read as {encoding}" in caplog.text


def test_a_chinese_heading_over_english_abstracts_is_enough_to_tell(tmp_path):
    text = "ICML 2024 论文列表\n\nWe train — models “well”.\n"

    (paper,) = read_papers(write(tmp_path, text.encode("gb18030")))

    assert paper.abstract == "We train — models “well”."


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Состояние рецепторного аппарата эндометрия изучено.", "cp1251"),
        ("Мы изучаем", "koi8-r"),
        ("このモデルはとても速い。", "euc_jp"),
        ("このモデルはとても速い。", "shift_jis"),
        ("我們提出了一種訓練語言模型的新方法。", "big5"),
        ("caf\x81\x81 \x81 x", "latin-1"),
    ],
)
def test_an_encoding_that_cannot_be_told_is_refused_rather_than_guessed(text, encoding, tmp_path):
    with pytest.raises(FormatError, match=r"papers\.txt: not UTF-8, .*; save it as UTF-8"):
        read_papers(write(tmp_path, f"Papers\n\n{text}\n".encode(encoding)))


def test_utf_16_that_is_cut_off_is_refused(tmp_path):
    with pytest.raises(FormatError, match="damaged or cut off utf-16; save it as UTF-8"):
        read_papers(write(tmp_path, WESTERN.encode("utf-16")[:-1]))
