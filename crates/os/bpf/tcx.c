/* Stamp a probe's packets at an interface: received packets before the rest of the kernel sees them, outgoing
 * packets just before the driver takes them. Compiled to tcx.o by compile.sh. */
#include "checksum.h"
#include "events.h"

/* The maximum number of bytes that are kept of a packet. */
#define SNAP 128
/* The leg in a tap's description of a packet that was corrupted on its way, beside those of `enum leg`. */
#define CORRUPTED 4

/* The description of a packet that a tap has seen. `Brief` in src/tcx/tap.rs has the same layout. */
struct brief {
	__u64 time_ns;
	__u32 probe;
	__u32 seq;
	__u32 leg;
	__u32 tai; /* the clock of `time_ns`: 1 for CLOCK_TAI, 0 for CLOCK_REALTIME */
};

/* The packet itself, if packets are wanted or the reader must parse it. `Whole` in src/tcx/tap.rs has the
 * same layout. */
struct whole {
	__u64 time_ns;
	__u32 length;   /* the number of bytes in `data` */
	__u32 original; /* the packet's length in bytes */
	__u16 outgoing; /* 1 if the packet was leaving by the interface, else 0 */
	__u16 corrupted; /* 1 if a checksum of the packet is wrong, else 0 */
	__u32 tai;      /* as in `struct brief` */
	__u8 data[SNAP];
};

/* A reply for a sender. `Event` in src/tcx/sender.rs has the same layout. */
struct reply {
	__u64 time_ns;
	__u64 nonce;
	__u32 seq;
	__u8 ttl;
	__u8 tai;
	__u16 reserved;
};

/* The transmit time of each packet of one probe in ns of CLOCK_TAI, 0 if it was not sent. The index is the
 * packet's sequence number less the first. The loader sets the number of elements. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} SENT SEC(".maps");

/* 1 while a sender sleeps until a reply comes, else 0. To wake a sender that is awake would cost an
 * interrupt. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} ASLEEP SEC(".maps");

/* Return a packet's time in ns, and set `tai` to its clock as in `struct brief`. A received packet has the
 * kernel's receive stamp, which all sockets get too, once the kernel takes stamps. */
static __always_inline __u64 stamp(struct __sk_buff *skb, int outgoing, __u32 *tai)
{
	__u64 received_ns = outgoing ? 0 : skb->tstamp;

	*tai = received_ns == 0;
	return received_ns ? received_ns : bpf_ktime_get_tai_ns();
}

/* Report the packet itself. */
static __always_inline int put_whole(struct __sk_buff *skb, int outgoing, int corrupted)
{
	struct whole *event = bpf_ringbuf_reserve(&EVENTS, sizeof(*event), 0);
	__u32 length = skb->len < SNAP ? skb->len : SNAP;

	if (!event)
		return count_drop();
	event->time_ns = stamp(skb, outgoing, &event->tai);
	event->original = skb->len;
	event->length = length;
	event->outgoing = outgoing;
	event->corrupted = corrupted;
	/* These bounds are for the kernel's verifier: a probe packet is longer than the lower one. */
	if (length < ETHERNET || length > SNAP || bpf_skb_load_bytes(skb, 0, event->data, length)) {
		bpf_ringbuf_discard(event, BPF_RB_NO_WAKEUP);
		return count_drop();
	}
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
	return 0;
}

/* Report a packet's description. */
static __always_inline int put_brief(struct __sk_buff *skb, int outgoing, const struct probe *probe, int leg)
{
	struct brief *event = bpf_ringbuf_reserve(&EVENTS, sizeof(*event), 0);

	if (!event)
		return count_drop();
	event->time_ns = stamp(skb, outgoing, &event->tai);
	event->probe = probe->id;
	event->seq = probe->seq;
	event->leg = leg;
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
	return 0;
}

/* Report a packet of the probe to the tap, and let every packet pass. */
static __always_inline int see(struct __sk_buff *skb, int outgoing)
{
	struct probe probe;
	int leg = leg_of(skb, &probe), corrupted;

	if (leg == OTHER)
		return TCX_NEXT;
	corrupted = leg != UNPARSED && is_corrupted(skb);
	if (leg == UNPARSED || SETTINGS.frames)
		put_whole(skb, outgoing, corrupted);
	else
		put_brief(skb, outgoing, &probe, corrupted ? CORRUPTED : leg);
	return TCX_NEXT;
}

/* Report a reply to the sender. Return 1, or 0 if the ring was full. */
static __always_inline int give(struct __sk_buff *skb, const struct probe *probe)
{
	struct reply *reply = bpf_ringbuf_reserve(&EVENTS, sizeof(*reply), 0);
	const volatile __u64 *asleep;
	__u32 key = 0, tai;

	if (!reply)
		return count_drop();
	reply->time_ns = stamp(skb, 0, &tai);
	reply->nonce = probe->nonce;
	reply->seq = probe->seq;
	reply->ttl = probe->ttl;
	reply->tai = tai;
	reply->reserved = 0;
	asleep = bpf_map_lookup_elem(&ASLEEP, &key);
	bpf_ringbuf_submit(reply, asleep && *asleep ? 0 : BPF_RB_NO_WAKEUP);
	return 1;
}

/* The program of a tap for received packets. */
SEC("classifier")
int tap_incoming(struct __sk_buff *skb)
{
	return see(skb, 0);
}

/* The program of a tap for outgoing packets. */
SEC("classifier")
int tap_outgoing(struct __sk_buff *skb)
{
	return see(skb, 1);
}

/* Return 1 if a packet comes from the address that is probed. */
static __always_inline int is_responders(const struct probe *probe)
{
	return probe->from[0] == SETTINGS.responder[0] && probe->from[1] == SETTINGS.responder[1] &&
	       probe->from[2] == SETTINGS.responder[2] && probe->from[3] == SETTINGS.responder[3];
}

/* The program of a sender for received packets: report replies and drop them, so that they go no further into
 * the kernel. A reply that finds the ring full passes. So does one from another address, and a corrupted one, which
 * the kernel then counts and drops. */
SEC("classifier")
int take_reply(struct __sk_buff *skb)
{
	struct probe probe;

	if (leg_of(skb, &probe) != REPLY || !is_responders(&probe) || is_corrupted(skb))
		return TCX_NEXT;
	return give(skb, &probe) ? TCX_DROP : TCX_NEXT;
}

/* The program of a sender for outgoing packets: note the time of each request that is sent for the first
 * time. */
SEC("classifier")
int note_request(struct __sk_buff *skb)
{
	struct probe probe;
	__u64 *sent;
	__u32 place;

	if (leg_of(skb, &probe) != REQUEST)
		return TCX_NEXT;
	place = probe.seq - SETTINGS.first_seq;
	sent = bpf_map_lookup_elem(&SENT, &place);
	if (sent && *sent == 0)
		*sent = bpf_ktime_get_tai_ns();
	return TCX_NEXT;
}

const char SOURCES_[] SEC("sources") = SOURCES;
char LICENSE[] SEC("license") = "Apache-2.0";
