/* Divide the ring of a packet socket among the interfaces whose frames it receives. A frame is let in only
 * while its interface has fewer frames in the ring than a fraction of the free slots, so that no interface
 * fills the ring (dynamic thresholds: Choudhury and Hahne 1998). Compiled to share.o by compile.sh. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "counters.h"

/* Set by the loader: `Settings` in src/ring/shares.rs has the same layout. */
const volatile struct {
	__u32 frames; /* the number of slots to be divided */
	__u32 parts;  /* an interface may use 1/parts of the free slots */
} SETTINGS = {};

/* By interface; element 0, which is no interface, is the total of all interfaces. */
COUNTERS(PORTS);   /* 1 for an interface whose frames are wanted, else 0 */
COUNTERS(ENTERED); /* frames let in */
COUNTERS(TAKEN);   /* frames that the reader has taken out again; the reader counts them */
COUNTERS(REFUSED); /* frames refused because they exceeded the share */

/* Return -1 to let the whole frame in, or 0 to refuse it. */

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
