/* Which packets are a probe's: the same rules as the packet sockets' filter (src/filter.rs). */
#pragma once

#include <linux/bpf.h>
#include <linux/pkt_cls.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define ETHERNET 14
#define IPV6 40
/* Headers up to the probe's: Ethernet, IPv6, ICMP or UDP, probe. */
#define HEADERS (ETHERNET + IPV6 + 8 + 24)

enum { ICMP = 1, UDP = 17, ICMPV6 = 58 };
/* Not yet in the headers of Debian 12. */
enum { TCX_NEXT = -1, TCX_DROP = 2 };
enum leg { OTHER, REQUEST, REPLY, UNPARSED };

/* Filled in by the loader, as `Settings` in src/tcx.rs; 0 lets any value pass. */
struct settings {
	__u32 magic;
	__u32 probe;
	__u32 first_seq;
	__u16 ip;       /* 4 or 6 */
	__u16 protocol; /* ICMP, UDP or ICMPV6 */
	__u16 ident;    /* the echo's identifier, or the sender's port */
	__u16 port;     /* the responder's */
	__u32 frames;   /* whether a tap is to give the packets themselves */
};
volatile const struct settings SETTINGS = {};

struct probe {
	__u32 id;
	__u32 seq;
	__u8 ttl; /* or hop limit */
};

static __always_inline int udp_leg(const __be16 *udp)
{
	const __be16 ident = bpf_htons(SETTINGS.ident), port = bpf_htons(SETTINGS.port);

	if ((port == 0 || udp[1] == port) && (ident == 0 || udp[0] == ident))
		return REQUEST;
	return udp[0] == port && (ident == 0 || udp[1] == ident) ? REPLY : OTHER;
}

static __always_inline int echo_leg(const __u8 *echo)
{
	const __u8 request = SETTINGS.ip == 4 ? 8 : 128, reply = SETTINGS.ip == 4 ? 0 : 129;

	if (SETTINGS.ident != 0 && *(const __be16 *)(echo + 4) != bpf_htons(SETTINGS.ident))
		return OTHER;
	return echo[0] == request ? REQUEST : echo[0] == reply ? REPLY : OTHER;
}

/* Looks at the transport header and the probe's behind it. */
static __always_inline int transport_leg(const __u8 *at, const void *end, struct probe *probe)
{
	const __be32 *header = (const void *)(at + 8);

	if ((const void *)(at + 8 + 24) > end || header[0] != bpf_htonl(SETTINGS.magic))
		return OTHER;
	probe->id = bpf_ntohl(header[2]);
	probe->seq = bpf_ntohl(header[3]);
	if (SETTINGS.probe != 0 && probe->id != SETTINGS.probe)
		return OTHER;
	return SETTINGS.protocol == UDP ? udp_leg((const void *)at) : echo_leg(at);
}

static __always_inline int ipv4_leg(const __u8 *ip, const void *end, struct probe *probe)
{
	if ((const void *)(ip + 20) > end)
		return OTHER;
	if (ip[9] != SETTINGS.protocol || *(const __be16 *)(ip + 6) & bpf_htons(0x3fff))
		return OTHER;
	probe->ttl = ip[8];
	return transport_leg(ip + (ip[0] & 15) * 4, end, probe);
}

static __always_inline int ipv6_leg(const __u8 *ip, const void *end, struct probe *probe)
{
	if ((const void *)(ip + IPV6) > end)
		return OTHER;
	/* Extension headers are walked by the reader. */
	if (ip[6] == 0 || ip[6] == 43 || ip[6] == 60)
		return UNPARSED;
	probe->ttl = ip[7];
	return ip[6] == SETTINGS.protocol ? transport_leg(ip + IPV6, end, probe) : OTHER;
}

static __always_inline int leg_of(struct __sk_buff *skb, struct probe *probe)
{
	const __u8 *data, *end;

	if (skb->protocol != (SETTINGS.ip == 4 ? bpf_htons(0x0800) : bpf_htons(0x86dd)))
		return OTHER;
	/* Headers may lie in fragments; this makes them readable in place. */
	if (skb->data_end - skb->data < HEADERS && skb->len > skb->data_end - skb->data)
		bpf_skb_pull_data(skb, skb->len < HEADERS ? skb->len : HEADERS);
	data = (const void *)(long)skb->data;
	end = (const void *)(long)skb->data_end;
	if (SETTINGS.ip == 4)
		return ipv4_leg(data + ETHERNET, end, probe);
	return ipv6_leg(data + ETHERNET, end, probe);
}
