/* Stamps of a probe's packets at an interface, before the rest of the kernel sees what comes in
 * and just before the driver takes what goes out. Compiled to tcx.o by compile.sh. */
#include "match.h"

#define SNAP 128

/* A packet that a tap saw; as `Brief` in src/tcx_tap.rs. */
struct brief {
	__u64 time_ns;
	__u32 probe;
	__u32 seq;
	__u32 leg;
	__u32 tai; /* whether the time is CLOCK_TAI, else CLOCK_REALTIME */
};

/* The same where the packet itself is wanted, or its reader must parse it; as `Whole` there. */
struct whole {
	__u64 time_ns;
	__u32 length;   /* of `data` */
	__u32 original; /* of the packet */
	__u32 outgoing;
	__u32 tai;
	__u8 data[SNAP];
};

/* A reply that a sender takes; as `Event` in src/tcx_sender.rs. */
struct reply {
	__u64 time_ns;
	__u32 seq;
	__u8 ttl;
	__u8 tai;
	__u16 reserved;
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 24);
} EVENTS SEC(".maps");

/* Packets that found the ring full. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} DROPPED SEC(".maps");

/* When the packets of one probe went out (CLOCK_TAI), by seq less the first. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} SENT SEC(".maps");

/* Whether a sender sleeps until a reply comes: waking one that does not costs an interrupt. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} ASLEEP SEC(".maps");

static __always_inline int count_drop(void)
{
	__u32 key = 0;
	__u64 *dropped = bpf_map_lookup_elem(&DROPPED, &key);

	if (dropped)
		__sync_fetch_and_add(dropped, 1);
	return 0;
}

/* What comes in has the stamp that every socket gets too, once the kernel takes stamps. */
static __always_inline __u64 stamp(struct __sk_buff *skb, int outgoing, __u32 *tai)
{
	__u64 received_ns = outgoing ? 0 : skb->tstamp;

	*tai = received_ns == 0;
	return received_ns ? received_ns : bpf_ktime_get_tai_ns();
}

static __always_inline int put_whole(struct __sk_buff *skb, int outgoing)
{
	struct whole *event = bpf_ringbuf_reserve(&EVENTS, sizeof(*event), 0);
	__u32 length = skb->len < SNAP ? skb->len : SNAP;

	if (!event)
		return count_drop();
	event->time_ns = stamp(skb, outgoing, &event->tai);
	event->original = skb->len;
	event->length = length;
	event->outgoing = outgoing;
	/* The bounds are for the verifier: a probe packet is longer than this. */
	if (length < ETHERNET || length > SNAP || bpf_skb_load_bytes(skb, 0, event->data, length)) {
		bpf_ringbuf_discard(event, BPF_RB_NO_WAKEUP);
		return count_drop();
	}
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
	return 0;
}

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

/* A tap puts a packet of the probe into the ring, and lets every packet go on. */
static __always_inline int see(struct __sk_buff *skb, int outgoing)
{
	struct probe probe;
	int leg = leg_of(skb, &probe);

	if (leg == UNPARSED || (leg != OTHER && SETTINGS.frames))
		put_whole(skb, outgoing);
	else if (leg != OTHER)
		put_brief(skb, outgoing, &probe, leg);
	return TCX_NEXT;
}

/* Puts a reply into the ring; returns whether there was room. */
static __always_inline int give(struct __sk_buff *skb, const struct probe *probe)
{
	struct reply *reply = bpf_ringbuf_reserve(&EVENTS, sizeof(*reply), 0);
	const volatile __u64 *asleep;
	__u32 key = 0, tai;

	if (!reply)
		return count_drop();
	reply->time_ns = stamp(skb, 0, &tai);
	reply->seq = probe->seq;
	reply->ttl = probe->ttl;
	reply->tai = tai;
	reply->reserved = 0;
	asleep = bpf_map_lookup_elem(&ASLEEP, &key);
	bpf_ringbuf_submit(reply, asleep && *asleep ? 0 : BPF_RB_NO_WAKEUP);
	return 1;
}

/* A tap: what comes in. */
SEC("classifier")
int tap_incoming(struct __sk_buff *skb)
{
	return see(skb, 0);
}

/* A tap: what goes out. */
SEC("classifier")
int tap_outgoing(struct __sk_buff *skb)
{
	return see(skb, 1);
}

/* A sender: replies go to it and no further. */
SEC("classifier")
int take_reply(struct __sk_buff *skb)
{
	struct probe probe;

	return leg_of(skb, &probe) == REPLY && give(skb, &probe) ? TCX_DROP : TCX_NEXT;
}

/* A sender: the time at which a request went out, if it is the packet's first. */
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
