/* Arrays whose index is an interface's; the agent maps them into its memory. */
#pragma once

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#define COUNTERS(name)                          \
	struct {                                    \
		__uint(type, BPF_MAP_TYPE_ARRAY);       \
		__uint(map_flags, BPF_F_MMAPABLE);      \
		__uint(max_entries, 1);                 \
		__type(key, __u32);                     \
		__type(value, __u64);                   \
	} name SEC(".maps")
