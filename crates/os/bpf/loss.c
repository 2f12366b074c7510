/* Drop a share of the frames that interfaces receive, by the Gilbert-Elliott model: a good and a bad state,
 * each with a probability of loss. Each interface has its own state. The program runs behind packet sockets and the programs of taps,
 * which have seen the frames by then. Compiled to loss.o by compile.sh. */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>

#include <bpf/bpf_helpers.h>

/* Probabilities, state and counters; src/clsact/loss.rs reads and writes them by their places. Probabilities are
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

/* By interface index. The loader sets the number of entries. */
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
int lose(struct __sk_buff *skb)
{
	__u32 interface = skb->ifindex;
	struct loss *loss = bpf_map_lookup_elem(&LOSS, &interface);

	if (!loss)
		return TC_ACT_UNSPEC;
	/* If two CPUs change the state at the same time, one of the changes may be lost. */
	if (happens(loss->bad ? loss->to_good : loss->to_bad))
		loss->bad = !loss->bad;
	__sync_fetch_and_add(&loss->seen, 1);
	if (!happens(loss->bad ? loss->lost_in_bad : loss->lost_in_good))
		return TC_ACT_UNSPEC;
	__sync_fetch_and_add(&loss->lost, 1);
	return TC_ACT_SHOT;
}

const char SOURCES_[] SEC("sources") = SOURCES;
char LICENSE[] SEC("license") = "Apache-2.0";
