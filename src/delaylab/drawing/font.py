"""The font of drawings that are shown on a screen."""

FONT = "system-ui, Liberation Sans, DejaVu Sans, sans-serif"
"""A browser takes the first. PNG files get the second, which comes with the renderer, so that they
look the same everywhere. The renderer took a third longer for DejaVu Sans."""
