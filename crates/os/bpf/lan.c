/* Links whose frames leave on a LAN as they are. A frame to an IPv4 multicast group would reach every machine that has
 * joined the group on any link; so it leaves to the address that its link has on the LAN, by the address of its
 * sender: of a link of two nodes the other node's, else that of a multicast group of the link's own. Where it arrives
 * it gets its destination back, which follows from its IP destination (RFC 1112, section 6.4). All other frames
 * stay as they are, ARP among them; but those that try the way between two machines end where they arrive. Compiled
 * to lan.o by compile.sh. */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/pkt_cls.h>
#include <stddef.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

/* The EtherType of frames that try the way between two machines: "local experimental" (IEEE 802, 9.2.4). */
#define TRIED 0x88b5

struct mac {
	__u8 bytes[ETH_ALEN];
};

/* The address that multicast leaves to, by the address of its sender. The loader sets the number of entries. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct mac);
	__type(value, struct mac);
} LEAVES_TO SEC(".maps");

/* Return 1 if this is the address of an IPv4 multicast group. */
static int is_group(const __u8 *mac)
{
	return mac[0] == 0x01 && mac[1] == 0x00 && mac[2] == 0x5e && !(mac[3] & 0x80);
}

/* Send a frame to a group to the link's address on the LAN. */
SEC("classifier")
int leave(struct __sk_buff *skb)
{
	struct ethhdr header;
	struct mac sender, *to;

	if (bpf_skb_load_bytes(skb, 0, &header, sizeof(header)))
		return TC_ACT_UNSPEC;
	if (header.h_proto != bpf_htons(ETH_P_IP) || !is_group(header.h_dest))
		return TC_ACT_UNSPEC;
	__builtin_memcpy(&sender, header.h_source, sizeof(sender));
	to = bpf_map_lookup_elem(&LEAVES_TO, &sender);
	if (to)
		bpf_skb_store_bytes(skb, 0, to, sizeof(*to), 0);
	return TC_ACT_UNSPEC;
}

/* Give a frame to a group its destination back. A packet socket has seen what is dropped here. */
SEC("classifier")
int arrive(struct __sk_buff *skb)
{
	struct ethhdr header;
	__u8 to[4];

	if (bpf_skb_load_bytes(skb, 0, &header, sizeof(header)))
		return TC_ACT_UNSPEC;
	if (header.h_proto == bpf_htons(TRIED))
		return TC_ACT_SHOT;
	if (header.h_proto != bpf_htons(ETH_P_IP))
		return TC_ACT_UNSPEC;
	if ((header.h_dest[0] & 1) && !is_group(header.h_dest))
		return TC_ACT_UNSPEC;
	if (bpf_skb_load_bytes(skb, sizeof(header) + offsetof(struct iphdr, daddr), to, sizeof(to)))
		return TC_ACT_UNSPEC;
	if ((to[0] & 0xf0) == 0xe0) {
		struct mac group = {{0x01, 0x00, 0x5e, to[1] & 0x7f, to[2], to[3]}};

		bpf_skb_store_bytes(skb, 0, &group, sizeof(group), 0);
	}
	return TC_ACT_UNSPEC;
}

const char SOURCES_[] SEC("sources") = SOURCES;
char LICENSE[] SEC("license") = "Apache-2.0";
