/* The ring in which a tap's programs report packets, and the count of those that found it full. */
#pragma once

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

/* The ring in which packets are reported. The loader sets its size in bytes. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 24);
} EVENTS SEC(".maps");

/* The number of packets that found the ring full. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} DROPPED SEC(".maps");

/* Count a packet that found the ring full. Return 0. */
static __always_inline int count_drop(void)
{
	__u32 key = 0;
	__u64 *dropped = bpf_map_lookup_elem(&DROPPED, &key);

	if (dropped)
		__sync_fetch_and_add(dropped, 1);
	return 0;
}
