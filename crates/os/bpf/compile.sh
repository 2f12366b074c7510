#!/bin/sh
# Compiles tcx.c to tcx.o, which is kept in the repository so that the agent builds without clang.
# Needs clang, llvm-strip and libbpf's headers (Debian: clang llvm libbpf-dev). The object carries the
# sources' sum, by which a test tells that it is theirs.
set -eu
cd "$(dirname "$0")"
clang -O2 -g -target bpf -mcpu=v3 -Wall -Wextra -Werror -fdebug-compilation-dir=. \
  -D"SOURCES=\"$(cat match.h tcx.c | sha256sum | cut -d' ' -f1)\"" \
  -I"/usr/include/$(uname -m)-linux-gnu" -c tcx.c -o tcx.o
llvm-strip --strip-debug tcx.o
