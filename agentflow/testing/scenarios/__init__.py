"""Tests without Python, run: files → acting → running → crashes; collecting is pytest's way to them."""
