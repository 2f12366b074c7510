/* Parts of the kernel's structures for sockets of TCP. The loader finds their places in the running kernel. */
#pragma once

#include "kernel.h"

/* The kernel's `sk_buff`: the loader leaves away what follows three underscores. */
struct sk_buff___tcp {
	unsigned char *head;
	__u16 transport_header; /* its place, counted from `head` */
	char cb[48];            /* of whoever has the packet; of TCP a `tcp_skb_cb` */
} KERNEL;
struct tcp_skb_cb {
	__u32 seq;
	__u32 end_seq;
};
struct in6_addr {
	__u8 bytes[16];
};
struct sock_common {
	__be32 skc_daddr;
	__be32 skc_rcv_saddr;
	__be16 skc_dport;
	__u16 skc_num;
	unsigned short skc_family;
	volatile unsigned char skc_state;
	possible_net_t skc_net;
	struct in6_addr skc_v6_daddr; /* if the kernel has IPv6 */
	struct in6_addr skc_v6_rcv_saddr;
} KERNEL;
struct sock {
	struct sock_common __sk_common;
} KERNEL;
struct tcp_sock {
	__u64 first_tx_mstamp; /* when the first of what is not acknowledged was sent, in µs of CLOCK_MONOTONIC */
} KERNEL;
struct request_sock {
	struct sock_common __req_common;
} KERNEL;
struct tcp_request_sock {
	__u64 snt_synack; /* when the SYN with ACK was sent first, in µs of CLOCK_MONOTONIC */
	__u32 snt_isn;
} KERNEL;
