"""The colours and type of the page, with contrast enough to read; fonts come with Gradio."""

from gradio.themes import Default
from gradio.themes.utils.fonts import LocalFont

THEME = Default(
    primary_hue="indigo",
    secondary_hue="indigo",
    neutral_hue="slate",
    radius_size="lg",
    # The 600 of this font that Gradio brings has a few letters only; browsers take 700 for it.
    font=[LocalFont("Source Sans Pro", weights=(400, 700)), "system-ui", "sans-serif"],
    font_mono=["ui-monospace", "SFMono-Regular", "Menlo", "monospace"],
).set(
    body_background_fill="#f7f7f9",
    body_background_fill_dark="#12141a",
    body_text_color="#1d2230",
    body_text_color_dark="#e6e8ee",
    body_text_color_subdued="#5a6274",
    body_text_color_subdued_dark="#a3abbd",
    background_fill_primary="#ffffff",
    background_fill_primary_dark="#1a1d25",
    background_fill_secondary="#f1f2f6",
    background_fill_secondary_dark="#21252f",
    border_color_primary="#dfe2ea",
    border_color_primary_dark="#313644",
    block_background_fill="*background_fill_primary",
    block_background_fill_dark="*background_fill_primary",
    input_background_fill="#ffffff",
    input_background_fill_dark="#1a1d25",
    button_primary_background_fill="#4338ca",
    button_primary_background_fill_dark="#4f46e5",
    button_primary_text_color="#ffffff",
    button_primary_text_color_dark="#ffffff",
    link_text_color="#4338ca",
    link_text_color_dark="#a5b4fc",
    block_title_text_color="#565e70",
    block_title_text_color_dark="#a3abbd",
    block_info_text_color="#565e70",
    block_info_text_color_dark="#a3abbd",
    block_label_text_color="#565e70",
    block_label_text_color_dark="#a3abbd",
    block_shadow="none",
    block_shadow_dark="none",
)
