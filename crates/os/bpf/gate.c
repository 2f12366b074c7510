/* Hold a frame that entered the kernel early until it is due, then send it by another interface. Compiled to gate.o
 * by compile.sh. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

/* Results of a program, which older headers lack. */
#define TCX_NEXT -1
#define TCX_DROP 2

/* The mark of frames to be held, and the places in `GATE`: as in src/tcx/gate.rs. */
#define MARK 0xd1a7
enum { DUE, BY, COPY, ARRIVED, OPENED, LEFT, RESULT, PLACES };

/* The most looks at the clock. A look takes 10 ns at least, so these cover the longest wait, 10 µs, twice. */
#define LOOKS 2048

/* The order for the next frame: the time in ns of CLOCK_MONOTONIC at which it is due, the interface to send it by, and
 * whether to send a copy. The answer: the times at which it arrived here and at which it was let go; of a copy also the
 * time at which it had left, and the kernel's result of sending it. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, PLACES);
	__type(key, __u32);
	__type(value, __u64);
} GATE SEC(".maps");

static __always_inline __u64 *at(__u32 place)
{
	return bpf_map_lookup_elem(&GATE, &place);
}

/* The program for outgoing frames. A held frame goes no further by this interface. One that would leave before it is
 * due does not leave at all. Nobody says when the frame itself has left, and with which result. Of a copy both are known,
 * but it leaves later by the time that copying takes. */
SEC("classifier")
int hold(struct __sk_buff *skb)
{
	__u64 *due, *by, *copy, *arrived, *opened, *left, *result, now;
	int look;

	if (skb->mark != MARK)
		return TCX_NEXT;
	due = at(DUE);
	by = at(BY);
	copy = at(COPY);
	arrived = at(ARRIVED);
	opened = at(OPENED);
	left = at(LEFT);
	result = at(RESULT);
	if (!due || !by || !copy || !arrived || !opened || !left || !result)
		return TCX_DROP;
	now = bpf_ktime_get_ns();
	*arrived = now;
	for (look = 0; look < LOOKS && now < *due; look++)
		now = bpf_ktime_get_ns();
	if (now < *due)
		return TCX_DROP;
	*opened = now;
	skb->mark = 0;
	if (!*copy)
		return bpf_redirect(*by, 0);
	*result = bpf_clone_redirect(skb, *by, 0);
	/* Not before: by this time the copy has left, so nothing that saw it leave saw it later. */
	*left = bpf_ktime_get_ns();
	return TCX_DROP;
}

const char SOURCES_[] SEC("sources") = SOURCES;
char LICENSE[] SEC("license") = "Apache-2.0";
