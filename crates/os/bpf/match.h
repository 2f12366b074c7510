/* Recognition of a probe's packets, by the same rules as the filter of packet sockets
 * (src/socket/classic_filter.rs). */
#pragma once

#include <linux/bpf.h>
#include <linux/pkt_cls.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

/* Lengths of headers in bytes. */
#define ETHERNET 14
#define IPV6 40
/* All headers up to the end of the probe header: Ethernet, IPv6, ICMP or UDP, probe. */
#define HEADERS (ETHERNET + IPV6 + 8 + 24)

/* IP protocol numbers. */
enum { ICMP = 1, UDP = 17, ICMPV6 = 58 };
/* Results of a tcx program (linux/bpf.h), which the headers of Debian 12 do not have yet. */
enum { TCX_NEXT = -1, TCX_DROP = 2 };
/* A packet's leg. UNPARSED: an IPv6 packet with extension headers, which the reader must parse. */
enum leg { OTHER, REQUEST, REPLY, UNPARSED };

/* Set by the loader: `Settings` in src/tcx/programs.rs has the same layout. In `probe`, `ident` and `port` 0
 * matches any value. */
struct settings {
	__u32 magic;     /* the first field of the probe header */
	__u32 probe;     /* the probe's number */
	__u32 first_seq; /* the sequence number of the sender's first packet */
	__u16 ip;       /* 4 or 6 */
	__u16 protocol; /* ICMP, UDP or ICMPV6 */
	__u16 ident;    /* the echo's identifier, or the sender's UDP port */
	__u16 port;     /* the responder's UDP port */
	__u32 frames;   /* 1 if a tap is to report whole packets, 0 for their descriptions */
	__u32 responder[4]; /* the address whose replies a sender takes, as in packets; of IPv4 the first word */
};
volatile const struct settings SETTINGS = {};

/* The fields of a probe's packet that are reported. */
struct probe {
	__u32 id;
	__u32 seq;
	__u8 ttl; /* the remaining time to live or hop limit */
	__u64 nonce;
	__u32 from[4]; /* the source address, as in the packet; of IPv4 the first word */
};

/* Return the leg of a UDP datagram: to the responder's port a request, from that port a reply. */
static __always_inline int udp_leg(const __be16 *udp)
{
	const __be16 ident = bpf_htons(SETTINGS.ident), port = bpf_htons(SETTINGS.port);

	if ((port == 0 || udp[1] == port) && (ident == 0 || udp[0] == ident))
		return REQUEST;
	return udp[0] == port && (ident == 0 || udp[1] == ident) ? REPLY : OTHER;
}

/* Return the leg of an ICMP or ICMPv6 message by its type: an echo is a request, an echo reply a reply. Both have
 * code 0. */
static __always_inline int echo_leg(const __u8 *echo)
{
	const __u8 request = SETTINGS.ip == 4 ? 8 : 128, reply = SETTINGS.ip == 4 ? 0 : 129;

	if (SETTINGS.ident != 0 && *(const __be16 *)(echo + 4) != bpf_htons(SETTINGS.ident))
		return OTHER;
	if (echo[1] != 0)
		return OTHER;
	return echo[0] == request ? REQUEST : echo[0] == reply ? REPLY : OTHER;
}

/* Return the leg by the transport header at `at` and the probe header behind it, and fill in `probe`. */
static __always_inline int transport_leg(const __u8 *at, const void *end, struct probe *probe)
{
	const __be32 *header = (const void *)(at + 8);

	if ((const void *)(at + 8 + 24) > end || header[0] != bpf_htonl(SETTINGS.magic))
		return OTHER;
	probe->id = bpf_ntohl(header[2]);
	probe->seq = bpf_ntohl(header[3]);
	probe->nonce = (__u64)bpf_ntohl(header[4]) << 32 | bpf_ntohl(header[5]);
	if (SETTINGS.probe != 0 && probe->id != SETTINGS.probe)
		return OTHER;
	return SETTINGS.protocol == UDP ? udp_leg((const void *)at) : echo_leg(at);
}

/* Return the leg of an IPv4 packet; OTHER for a fragment. */
static __always_inline int ipv4_leg(const __u8 *ip, const void *end, struct probe *probe)
{
	if ((const void *)(ip + 20) > end)
		return OTHER;
	if (ip[9] != SETTINGS.protocol || *(const __be16 *)(ip + 6) & bpf_htons(0x3fff))
		return OTHER;
	probe->ttl = ip[8];
	__builtin_memset(probe->from, 0, sizeof(probe->from));
	probe->from[0] = *(const __u32 *)(ip + 12);
	return transport_leg(ip + (ip[0] & 15) * 4, end, probe);
}

/* Return the leg of an IPv6 packet. */
static __always_inline int ipv6_leg(const __u8 *ip, const void *end, struct probe *probe)
{
	if ((const void *)(ip + IPV6) > end)
		return OTHER;
	/* Hop-by-hop, routing and destination options: the reader parses extension headers. */
	if (ip[6] == 0 || ip[6] == 43 || ip[6] == 60)
		return UNPARSED;
	probe->ttl = ip[7];
	__builtin_memcpy(probe->from, ip + 8, sizeof(probe->from));
	return ip[6] == SETTINGS.protocol ? transport_leg(ip + IPV6, end, probe) : OTHER;
}

/* Return the leg of a packet from its Ethernet header on. `probe` is filled in for REQUEST and REPLY. */
static __always_inline int leg_of(struct __sk_buff *skb, struct probe *probe)
{
	const __u8 *data, *end;

	if (skb->protocol != (SETTINGS.ip == 4 ? bpf_htons(0x0800) : bpf_htons(0x86dd)))
		return OTHER;
	/* Headers may lie in fragments of the buffer. Pulling them makes them readable in place. */
	if (skb->data_end - skb->data < HEADERS && skb->len > skb->data_end - skb->data)
		bpf_skb_pull_data(skb, skb->len < HEADERS ? skb->len : HEADERS);
	data = (const void *)(long)skb->data;
	end = (const void *)(long)skb->data_end;
	if (SETTINGS.ip == 4)
		return ipv4_leg(data + ETHERNET, end, probe);
	return ipv6_leg(data + ETHERNET, end, probe);
}
