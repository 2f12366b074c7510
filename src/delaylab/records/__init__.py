"""What a dataset's files hold, as types: where doing and meaning meet."""
