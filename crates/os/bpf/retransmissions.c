/* SPDX-License-Identifier: MIT OR GPL-2.0-only
 *
 * The kernel lets only programs under a licence that the GPL allows look into its structures.
 */
/* Report the TCP segments that the kernel sends again, and those that come to a socket which has their bytes already.
 * Nothing is done for other packets. Compiled to retransmissions.o by compile.sh. */
#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "events.h"
#include "sockets.h"

/* A trace point's arguments are by their place, and not all of them are used. */
#pragma clang diagnostic ignored "-Wunused-parameter"

#define AF_INET 2
#define SYN_RECEIVED 3 /* TCP_SYN_RECV */
#define NS_PER_US 1000

/* The loader finds the numbers of these reasons in the running kernel. */
enum skb_drop_reason { SKB_DROP_REASON_TCP_OLD_DATA, SKB_DROP_REASON_TCP_OLD_SEQUENCE };

/* The beginning of a TCP header. */
struct header {
	__be16 from;
	__be16 to;
	__be32 sequence;
};

/* A segment. `Reported` in src/retransmissions.rs has the same layout. Addresses of IPv4 are as in IPv6 (RFC 4291,
 * section 2.5.5.2). */
struct segment {
	__u64 time_ns;   /* of CLOCK_MONOTONIC */
	__u64 first_ns;  /* the time at which what is not acknowledged was sent first; 0 if that is not known */
	__u32 namespace; /* the inode number of the network namespace */
	__u32 sequence;
	__u32 length;    /* of a SYN 1, as it counts in sequence numbers */
	__u16 local_port;
	__u16 remote_port;
	__u8 local[16];
	__u8 remote[16];
	__u32 state;     /* of the socket, as the kernel numbers it */
	__u32 came;      /* 1 if it came to a socket that had its bytes already; then only time, sequence and ports count */
};

static __always_inline void put_address(__u8 *to, __be32 address)
{
	__builtin_memset(to, 0, 10);
	__builtin_memset(to + 10, 0xff, 2);
	__builtin_memcpy(to + 12, &address, sizeof(address));
}

/* Write both ends of a connection. */
static __always_inline void put_ends(struct segment *report, const struct sock_common *of)
{
	report->local_port = of->skc_num;
	report->remote_port = bpf_ntohs(of->skc_dport);
	if (of->skc_family == AF_INET) {
		put_address(report->local, of->skc_rcv_saddr);
		put_address(report->remote, of->skc_daddr);
		return;
	}
	if (!bpf_core_field_exists(of->skc_v6_daddr))
		return;
	bpf_probe_read_kernel(report->local, sizeof(report->local), &of->skc_v6_rcv_saddr);
	bpf_probe_read_kernel(report->remote, sizeof(report->remote), &of->skc_v6_daddr);
}

SEC("tp_btf/tcp_retransmit_skb")
int BPF_PROG(on_retransmission, const struct sock *socket, const struct sk_buff___tcp *packet)
{
	const struct tcp_sock *tcp = (const struct tcp_sock *)socket;
	struct segment *report = bpf_ringbuf_reserve(&EVENTS, sizeof(*report), 0);
	struct tcp_skb_cb place;

	if (!report)
		return count_drop();
	bpf_probe_read_kernel(&place, sizeof(place), packet->cb);
	report->time_ns = bpf_ktime_get_ns();
	report->first_ns = BPF_CORE_READ(tcp, first_tx_mstamp) * NS_PER_US;
	report->namespace = socket->__sk_common.skc_net.net->ns.inum;
	report->sequence = place.seq;
	report->length = place.end_seq - place.seq;
	put_ends(report, &socket->__sk_common);
	report->state = socket->__sk_common.skc_state;
	report->came = 0;
	bpf_ringbuf_submit(report, BPF_RB_NO_WAKEUP);
	return 0;
}

SEC("tp_btf/tcp_retransmit_synack")
int BPF_PROG(on_syn_ack, const struct sock *listener, const struct request_sock *asked)
{
	const struct tcp_request_sock *tcp = (const struct tcp_request_sock *)asked;
	struct segment *report = bpf_ringbuf_reserve(&EVENTS, sizeof(*report), 0);

	if (!report)
		return count_drop();
	report->time_ns = bpf_ktime_get_ns();
	report->first_ns = BPF_CORE_READ(tcp, snt_synack) * NS_PER_US;
	report->namespace = listener->__sk_common.skc_net.net->ns.inum;
	report->sequence = BPF_CORE_READ(tcp, snt_isn);
	report->length = 1;
	put_ends(report, &asked->__req_common);
	report->state = SYN_RECEIVED;
	report->came = 0;
	bpf_ringbuf_submit(report, BPF_RB_NO_WAKEUP);
	return 0;
}

SEC("tp_btf/kfree_skb")
int BPF_PROG(on_old_data, struct sk_buff___tcp *packet, void *location, unsigned int reason)
{
	struct segment *report;
	struct header header;

	if (!(bpf_core_enum_value_exists(enum skb_drop_reason, SKB_DROP_REASON_TCP_OLD_DATA) &&
	      reason == bpf_core_enum_value(enum skb_drop_reason, SKB_DROP_REASON_TCP_OLD_DATA)) &&
	    !(bpf_core_enum_value_exists(enum skb_drop_reason, SKB_DROP_REASON_TCP_OLD_SEQUENCE) &&
	      reason == bpf_core_enum_value(enum skb_drop_reason, SKB_DROP_REASON_TCP_OLD_SEQUENCE)))
		return 0;
	if (bpf_probe_read_kernel(&header, sizeof(header), packet->head + packet->transport_header))
		return 0;
	report = bpf_ringbuf_reserve(&EVENTS, sizeof(*report), 0);
	if (!report)
		return count_drop();
	__builtin_memset(report, 0, sizeof(*report));
	report->time_ns = bpf_ktime_get_ns();
	report->sequence = bpf_ntohl(header.sequence);
	report->local_port = bpf_ntohs(header.from);
	report->remote_port = bpf_ntohs(header.to);
	report->came = 1;
	bpf_ringbuf_submit(report, BPF_RB_NO_WAKEUP);
	return 0;
}

const char SOURCES_[] SEC("sources") = SOURCES;
char LICENSE[] SEC("license") = "Dual MIT/GPL";
