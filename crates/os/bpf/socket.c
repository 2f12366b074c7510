/* Stamp a service's packets at its sockets: requests when they have passed the network stack, answers before they
 * enter it. The programs run for all sockets of a control group, so they look at the namespace and the port first.
 * Compiled to socket.o by compile.sh. */
#include <linux/bpf.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "events.h"

/* The most bytes that are kept of a packet, with the Ethernet header that is put before it. */
#define SNAP 128
#define ETHERNET 14
#define IPV6 40
/* The results of a program: the packet passes. */
#define PASS 1

/* The packets that are wanted. Set by the loader: `Settings` in src/service_tap.rs has the same layout. */
struct settings {
	__u64 namespace; /* the cookie of the network namespace; 0 for any */
	__u16 port;      /* the service's port */
	__u16 ip;        /* 4 or 6 */
	__u16 protocol;  /* TCP or UDP */
	__u16 reserved;
};
volatile const struct settings SETTINGS = {};

/* A packet. `Whole` in src/service_tap.rs has the same layout. */
struct whole {
	__u64 time_ns;   /* of CLOCK_TAI */
	__u32 length;    /* the number of bytes in `data` */
	__u32 original;  /* the packet's length in bytes, with the Ethernet header */
	__u32 outgoing;  /* 1 for an answer, 0 for a request */
	__u32 reserved;
	__u8 data[SNAP]; /* from the Ethernet header on */
};

/* Return the place of the transport header; 0 for another protocol or a fragment. Of IPv6 only packets without
 * extension headers are known. */
static __always_inline __u32 transport_at(struct __sk_buff *skb)
{
	__u8 ip[10];

	if (bpf_skb_load_bytes(skb, 0, ip, sizeof(ip)))
		return 0;
	if (SETTINGS.ip == 6)
		return ip[0] >> 4 == 6 && ip[6] == SETTINGS.protocol ? IPV6 : 0;
	if (ip[0] >> 4 != 4 || ip[9] != SETTINGS.protocol || ip[6] & 0x3f || ip[7])
		return 0;
	return (ip[0] & 15) * 4;
}

/* Return 1 if a packet is the service's: a request comes to its port, an answer leaves from it. */
static __always_inline int is_wanted(struct __sk_buff *skb, int outgoing)
{
	__be16 ports[2];
	__u32 at;

	/* Kernels before Linux 6.15 do not tell it here; their loader sets 0, and the call is left out. */
	if (SETTINGS.namespace && bpf_get_netns_cookie(skb) != SETTINGS.namespace)
		return 0;
	at = transport_at(skb);
	if (!at || bpf_skb_load_bytes(skb, at, ports, sizeof(ports)))
		return 0;
	return ports[outgoing ? 0 : 1] == bpf_htons(SETTINGS.port);
}

/* Report the beginning of a packet, behind an Ethernet header like that of a captured frame. */
static __always_inline void put(struct __sk_buff *skb, int outgoing)
{
	struct whole *event = bpf_ringbuf_reserve(&EVENTS, sizeof(*event), 0);
	__u32 length = skb->len < SNAP - ETHERNET ? skb->len : SNAP - ETHERNET;

	if (!event) {
		count_drop();
		return;
	}
	event->time_ns = bpf_ktime_get_tai_ns();
	event->original = skb->len + ETHERNET;
	event->length = length + ETHERNET;
	event->outgoing = outgoing;
	event->reserved = 0;
	__builtin_memset(event->data, 0, ETHERNET);
	event->data[12] = SETTINGS.ip == 4 ? 0x08 : 0x86;
	event->data[13] = SETTINGS.ip == 4 ? 0x00 : 0xdd;
	/* These bounds are for the kernel's verifier: each packet has ports. */
	if (length < 4 || length > SNAP - ETHERNET ||
	    bpf_skb_load_bytes(skb, 0, event->data + ETHERNET, length)) {
		bpf_ringbuf_discard(event, BPF_RB_NO_WAKEUP);
		count_drop();
		return;
	}
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
}

static __always_inline int see(struct __sk_buff *skb, int outgoing)
{
	if (is_wanted(skb, outgoing))
		put(skb, outgoing);
	return PASS;
}

/* The program for packets that have come to a socket. */
SEC("cgroup_skb/ingress")
int arrives(struct __sk_buff *skb)
{
	return see(skb, 0);
}

/* The program for packets that a socket sends. */
SEC("cgroup_skb/egress")
int leaves(struct __sk_buff *skb)
{
	return see(skb, 1);
}

const char SOURCES_[] SEC("sources") = SOURCES;
char LICENSE[] SEC("license") = "Apache-2.0";
