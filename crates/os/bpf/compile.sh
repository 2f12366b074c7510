#!/bin/sh
# Compiles the programs, which are kept in the repository so that the agent builds without clang.
# Needs clang, llvm-strip and libbpf's headers (Debian: clang llvm libbpf-dev). Each object carries its
# sources' sum, by which a test tells that it is theirs.
set -eu
cd "$(dirname "$0")"

# compile NAME [HEADER]...
compile() {
  name=$1
  shift
  clang -O2 -g -target bpf -mcpu=v3 -Wall -Wextra -Werror -fdebug-compilation-dir=. \
    -D"SOURCES=\"$(cat "$@" "$name.c" | sha256sum | cut -d' ' -f1)\"" \
    -I"/usr/include/$(uname -m)-linux-gnu" -c "$name.c" -o "$name.o"
  llvm-strip --strip-debug "$name.o"
}

compile tcx match.h
compile drop
compile share
compile loss
