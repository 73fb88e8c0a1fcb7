"""Nouns: frozen values without behaviour that touches the world."""
