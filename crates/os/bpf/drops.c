/* SPDX-License-Identifier: MIT OR GPL-2.0-only
 *
 * The kernel lets only programs under a licence that the GPL allows look into its structures.
 */
/* Report the packets of probes that the kernel drops, with its reason. Compiled to drops.o by compile.sh. */
#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "events.h"
#include "kernel.h"

/* A trace point's arguments are by their place, and not all of them are used. */
#pragma clang diagnostic ignored "-Wunused-parameter"

/* Lengths of headers in bytes; of ICMP and UDP the first words. */
#define IPV6 40
#define TRANSPORT 8
enum { ICMP = 1, UDP = 17, ICMPV6 = 58 };

/* The loader finds the number of each reason in the running kernel. */
enum skb_drop_reason { SKB_DROP_REASON_TC_INGRESS };

/* Set by the loader: the first field of a probe's header. */
volatile const __u32 MAGIC = 0;

/* A packet. `Reported` in src/drops/mod.rs has the same layout. */
struct dropped {
	__u64 time_ns;    /* of CLOCK_MONOTONIC */
	__u32 reason;     /* its number in the running kernel */
	__u32 probe;
	__u32 seq;
	__u32 namespace;  /* the inode number of the network namespace; 0 if the packet had no interface */
	__u32 cpu;
	char name[IFNAMSIZ]; /* of the interface */
};

/* Return where the probe header is, counted from the network header; 0 for a packet that can have none. */
static __always_inline __u32 header_at(const __u8 *ip)
{
	if (ip[0] >> 4 == 6)
		return ip[6] == UDP || ip[6] == ICMPV6 ? IPV6 + TRANSPORT : 0;
	if (ip[0] >> 4 != 4 || (ip[9] != UDP && ip[9] != ICMP) || ip[6] & 0x1f || ip[7])
		return 0;
	return (ip[0] & 15) * 4 + TRANSPORT;
}

SEC("tp_btf/kfree_skb")
int BPF_PROG(on_drop, struct sk_buff *packet, void *location, unsigned int reason)
{
	struct net_device *interface = packet->dev;
	const __u8 *at = packet->head + packet->network_header;
	struct dropped *report;
	__be32 probe[4];
	__u8 ip[10];
	__u32 header;

	/* A link engine has taken these frames by then (drop.c). */
	if (bpf_core_enum_value_exists(enum skb_drop_reason, SKB_DROP_REASON_TC_INGRESS) &&
	    reason == bpf_core_enum_value(enum skb_drop_reason, SKB_DROP_REASON_TC_INGRESS))
		return 0;
	if (bpf_probe_read_kernel(ip, sizeof(ip), at))
		return 0;
	header = header_at(ip);
	if (!header || bpf_probe_read_kernel(probe, sizeof(probe), at + header) || probe[0] != bpf_htonl(MAGIC))
		return 0;
	report = bpf_ringbuf_reserve(&EVENTS, sizeof(*report), 0);
	if (!report)
		return count_drop();
	report->time_ns = bpf_ktime_get_ns();
	report->reason = reason;
	report->probe = bpf_ntohl(probe[2]);
	report->seq = bpf_ntohl(probe[3]);
	report->namespace = interface ? interface->nd_net.net->ns.inum : 0;
	__builtin_memset(report->name, 0, sizeof(report->name));
	if (interface)
		bpf_probe_read_kernel(report->name, sizeof(report->name), interface->name);
	report->cpu = bpf_get_smp_processor_id();
	bpf_ringbuf_submit(report, BPF_RB_NO_WAKEUP);
	return 0;
}

const char SOURCES_[] SEC("sources") = SOURCES;
char LICENSE[] SEC("license") = "Dual MIT/GPL";
