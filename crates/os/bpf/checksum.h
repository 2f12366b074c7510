/* Recognition of a probe's packets that were corrupted on their way, by the same rules as
 * `is_corrupted` in crates/wire/src/intact.rs. */
#pragma once

#include "match.h"

/* The bytes to sum in one call: the most that bpf_csum_diff takes before Linux 6.13, and a multiple of 4. */
#define CHUNK 512
/* The most whole chunks of a packet: those of a jumbo frame. The kernel's verifier takes time for each. */
#define CHUNKS 18

/* The part of a packet that is being summed, and room for padding. A packet is dealt with on one CPU, without interruption. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u8[CHUNK + 8]);
} SCRATCH SEC(".maps");

/* Fold a one's-complement sum to 16 bits. */
static __always_inline __u16 folded(__u32 sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	return (sum & 0xffff) + (sum >> 16);
}

/* Add `length` bytes of the packet from `at` on to a sum, in `sum`. Return 0, or -1 if there are more than in a
 * jumbo frame, or they cannot be read. */
static __always_inline int add_bytes(struct __sk_buff *skb, __u32 at, __u32 length, __u32 *sum)
{
	__u32 key = 0;
	__u8 *scratch = bpf_map_lookup_elem(&SCRATCH, &key);

	if (!scratch)
		return -1;
#pragma clang loop unroll(disable)
	for (int chunk = 0; chunk < CHUNKS && length >= CHUNK; chunk++) {
		if (bpf_skb_load_bytes(skb, at, scratch, CHUNK))
			return -1;
		*sum = bpf_csum_diff(0, 0, (__be32 *)scratch, CHUNK, *sum);
		at += CHUNK;
		length -= CHUNK;
	}
	if (length == 0)
		return 0;
	if (length >= CHUNK)
		return -1;
	/* The mask is for the kernel's verifier. */
	length &= CHUNK - 1;
	if (length == 0 || bpf_skb_load_bytes(skb, at, scratch, length))
		return -1;
	/* Pad to a multiple of 4 with zeros. */
	*(__u32 *)(scratch + length) = 0;
	*sum = bpf_csum_diff(0, 0, (__be32 *)scratch, (length + 3) & ~3, *sum);
	return 0;
}

/* Read the IP header: set the bounds of the message behind it, and the sum of the addresses. Return 0 if the
 * header is right, 1 if it is corrupted. */
static __always_inline int read_header(struct __sk_buff *skb, __u32 *at, __u32 *length, __u32 *sum)
{
	__u32 header[15] = {};
	__u32 size = 20;

	if (SETTINGS.ip == 6) {
		if (bpf_skb_load_bytes(skb, ETHERNET, header, IPV6))
			return 1;
		*at = ETHERNET + IPV6;
		*length = bpf_ntohl(header[1]) >> 16;
		*sum = bpf_csum_diff(0, 0, &header[2], 32, 0);
		return 0;
	}
	if (bpf_skb_load_bytes(skb, ETHERNET, header, size))
		return 1;
	size = (*(__u8 *)header & 15) * 4;
	if (size < 20 || size > 60 || bpf_skb_load_bytes(skb, ETHERNET, header, size))
		return 1;
	if (folded(bpf_csum_diff(0, 0, header, size, 0)) != 0xffff)
		return 1;
	*at = ETHERNET + size;
	*length = (bpf_ntohl(header[0]) & 0xffff) - size;
	*sum = bpf_csum_diff(0, 0, &header[3], 8, 0);
	return 0;
}

/* Return true if a packet of the probe, without extension headers, has a wrong checksum or was cut: the kernel
 * drops it. The checksum of a UDP datagram may be left to the interface; then the field holds the sum of the
 * pseudo header (Documentation/networking/checksum-offloads.rst). Packets longer than jumbo frames are not
 * checked. */
static __always_inline int is_corrupted(struct __sk_buff *skb)
{
	__u32 at, length, sum;
	__be16 udp[4];

	if (read_header(skb, &at, &length, &sum))
		return 1;
	if (SETTINGS.protocol == UDP) {
		if (bpf_skb_load_bytes(skb, at, udp, sizeof(udp)))
			return 1;
		if (udp[3] == 0 && SETTINGS.ip == 4)
			return 0;
		if (bpf_ntohs(udp[2]) < sizeof(udp) || bpf_ntohs(udp[2]) > length)
			return 1;
		length = bpf_ntohs(udp[2]);
	}
	if (length > 65535 || at + length > skb->len)
		return 1;
	if (SETTINGS.protocol == ICMP) {
		sum = 0;
	} else {
		__be32 rest[2] = { bpf_htonl(length), bpf_htonl(SETTINGS.protocol) };

		sum = bpf_csum_diff(0, 0, rest, sizeof(rest), sum);
	}
	if (SETTINGS.protocol == UDP && udp[3] == folded(sum))
		return 0;
	return add_bytes(skb, at, length, &sum) == 0 && folded(sum) != 0xffff;
}
