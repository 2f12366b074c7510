"""Injections of causes, one function each; `tests.truth.injector` runs them."""
