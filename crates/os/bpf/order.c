/* Count the frames of a generator that a UDP socket receives, and those that came out of order: a frame whose
 * number is smaller than one before it (RFC 4737, section 3). All are dropped before they enter the socket's
 * buffer. Each interface has counters of its own. Compiled to order.o by compile.sh. */
#include <linux/bpf.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "counters.h"

/* Set by the loader: `MAGIC` in src/socket/order_counter.rs. */
const volatile __u32 MAGIC = 0;

/* Places behind the UDP header, at which the socket's data begins: a frame that has room for it carries a probe
 * header, which begins with the magic number; a shorter one begins with its number. */
enum { PAYLOAD = 8, NUMBER = 12 };

COUNTERS(NEXT);      /* the smallest number that is in order: one more than the largest so far */
COUNTERS(RECEIVED);  /* frames received */
COUNTERS(REORDERED); /* of these, frames out of order */

/* Return 0 to drop the frame. */
SEC("socket")
int order(struct __sk_buff *skb)
{
	__u32 interface = skb->ifindex;
	__u64 *next = bpf_map_lookup_elem(&NEXT, &interface);
	__u64 *received = bpf_map_lookup_elem(&RECEIVED, &interface);
	__u64 *reordered = bpf_map_lookup_elem(&REORDERED, &interface);
	__be32 first, number;

	if (!next || !received || !reordered || bpf_skb_load_bytes(skb, PAYLOAD, &first, 4))
		return 0;
	number = first;
	if (first == bpf_htonl(MAGIC) && bpf_skb_load_bytes(skb, PAYLOAD + NUMBER, &number, 4))
		return 0;
	__sync_fetch_and_add(received, 1);
	/* If two CPUs receive frames of one interface at the same time, one of the changes may be lost. */
	if (bpf_ntohl(number) >= *next)
		*next = (__u64)bpf_ntohl(number) + 1;
	else
		__sync_fetch_and_add(reordered, 1);
	return 0;
}

const char SOURCES_[] SEC("sources") = SOURCES;
char LICENSE[] SEC("license") = "Apache-2.0";
