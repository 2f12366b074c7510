/* Drop a share of the frames that an interface receives, by the Gilbert-Elliott model: a good and a bad
 * state, each with a probability of loss. The program runs behind packet sockets and the programs of taps,
 * which have seen the frames by then. Compiled to loss.o by compile.sh. */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>

#include <bpf/bpf_helpers.h>

/* Results of a tcx program (linux/bpf.h), which the headers of Debian 12 do not have yet. */
enum { TCX_NEXT = -1, TCX_DROP = 2 };

/* Probabilities, state and counters; src/tcx/loss.rs reads and writes them by their places. Probabilities are
 * in units of 2^-32: 2^32 means always. */
struct loss {
	__u64 to_bad;       /* of a change from the good to the bad state */
	__u64 to_good;      /* of a change from the bad to the good state */
	__u64 lost_in_bad;  /* of the loss of a frame in the bad state */
	__u64 lost_in_good; /* of the loss of a frame in the good state */
	__u64 bad;          /* the state: 1 for bad, 0 for good */
	__u64 seen;         /* frames received */
	__u64 lost;         /* of these, frames dropped */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct loss);
} LOSS SEC(".maps");

/* Return 1 with this probability, else 0. */
static int happens(__u64 chance)
{
	return bpf_get_prandom_u32() < chance;
}

/* Perhaps change the state, then perhaps drop the frame. */
SEC("classifier")
int lose(struct __sk_buff *skb __attribute__((unused)))
{
	__u32 first = 0;
	struct loss *loss = bpf_map_lookup_elem(&LOSS, &first);

	if (!loss)
		return TCX_NEXT;
	/* If two CPUs change the state at the same time, one of the changes may be lost. */
	if (happens(loss->bad ? loss->to_good : loss->to_bad))
		loss->bad = !loss->bad;
	__sync_fetch_and_add(&loss->seen, 1);
	if (!happens(loss->bad ? loss->lost_in_bad : loss->lost_in_good))
		return TCX_NEXT;
	__sync_fetch_and_add(&loss->lost, 1);
	return TCX_DROP;
}

const char SOURCES_[] SEC("sources") = SOURCES;
char LICENSE[] SEC("license") = "Apache-2.0";
