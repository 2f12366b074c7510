"""What an injector does, cause by cause; it runs apart from the tests (`tests.truth.injector`)."""
