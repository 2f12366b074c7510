#!/bin/sh
# Compile the programs into the objects beside this file. The objects are kept in the repository, so that the
# agent builds without clang. Needs clang, llvm-strip and the headers of libbpf (Debian: clang llvm
# libbpf-dev). With the packages of Debian 12 (clang 14) the objects are the same byte for byte. Each object
# holds the SHA-256 sum of its sources, by which a test checks that the object was compiled from them.
set -eu
cd "$(dirname "$0")"

# compile NAME [HEADER]...: compile NAME.c, which includes the headers, to NAME.o.
compile() {
  name=$1
  shift
  clang -O2 -g -target bpf -mcpu=v3 -Wall -Wextra -Werror -fdebug-compilation-dir=. \
    -D"SOURCES=\"$(cat "$@" "$name.c" | sha256sum | cut -d' ' -f1)\"" \
    -I"/usr/include/$(uname -m)-linux-gnu" -c "$name.c" -o "$name.o"
  llvm-strip --strip-debug "$name.o"
}

compile tcx checksum.h events.h match.h
compile drop
compile share counters.h
compile loss
compile order counters.h
compile lan
compile gate
compile socket events.h
compile cpus cpus.h kernel.h
compile drops events.h kernel.h
compile retransmissions events.h kernel.h sockets.h
