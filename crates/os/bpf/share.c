/* Divides the ring of a packet socket among the interfaces whose frames come by it: a frame enters
 * only while fewer of its interface are in the ring than a share of what is free there, so that no
 * interface fills it (dynamic thresholds: Choudhury and Hahne 1998). Compiled to share.o by compile.sh. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

/* As `Settings` in src/ring_shares.rs. */
const volatile struct {
	__u32 frames; /* that the ring is taken to hold */
	__u32 parts;  /* an interface may have one of so many parts of what is free */
} SETTINGS = {};

/* By an interface's index; the place of no interface, 0, is for all of them together. */
#define COUNTERS(name)                          \
	struct {                                    \
		__uint(type, BPF_MAP_TYPE_ARRAY);       \
		__uint(map_flags, BPF_F_MMAPABLE);      \
		__uint(max_entries, 1);                 \
		__type(key, __u32);                     \
		__type(value, __u64);                   \
	} name SEC(".maps")

COUNTERS(PORTS);   /* whether it is one of those whose frames are wanted */
COUNTERS(ENTERED); /* frames let in */
COUNTERS(TAKEN);   /* of these, those that the reader has taken out again; written by it */
COUNTERS(REFUSED); /* frames beyond the share */

SEC("socket")
int share(struct __sk_buff *skb)
{
	__u32 port = skb->ifindex, all = 0;
	__u64 *wanted = bpf_map_lookup_elem(&PORTS, &port);
	__u64 *entered = bpf_map_lookup_elem(&ENTERED, &port);
	__u64 *taken = bpf_map_lookup_elem(&TAKEN, &port);
	__u64 *refused = bpf_map_lookup_elem(&REFUSED, &port);
	__u64 *all_entered = bpf_map_lookup_elem(&ENTERED, &all);
	__u64 *all_taken = bpf_map_lookup_elem(&TAKEN, &all);
	__s64 own, free;

	if (!wanted || !entered || !taken || !refused || !all_entered || !all_taken || !*wanted)
		return 0;
	own = *entered - *taken;
	free = (__s64)SETTINGS.frames - (__s64)(*all_entered - *all_taken);
	if (own * SETTINGS.parts >= free) {
		__sync_fetch_and_add(refused, 1);
		return 0;
	}
	__sync_fetch_and_add(entered, 1);
	__sync_fetch_and_add(all_entered, 1);
	return -1;
}

const char SOURCES_[] SEC("sources") = SOURCES;
char LICENSE[] SEC("license") = "Apache-2.0";
