/* Takes away some of what comes in by an interface, once everyone who watches has seen it. Compiled to
 * loss.o by compile.sh. */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>

#include <bpf/bpf_helpers.h>

/* Not yet in the headers of Debian 12. */
enum { TCX_NEXT = -1, TCX_DROP = 2 };

/* As `src/tcx_loss.rs` has it. Chances are in 2^-32, so that 2^32 is always. */
struct loss {
	__u64 to_bad;
	__u64 to_good;
	__u64 lost_in_bad;
	__u64 lost_in_good;
	__u64 bad;
	__u64 seen;
	__u64 lost;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct loss);
} LOSS SEC(".maps");

static int happens(__u64 chance)
{
	return bpf_get_prandom_u32() < chance;
}

SEC("classifier")
int lose(struct __sk_buff *skb __attribute__((unused)))
{
	__u32 first = 0;
	struct loss *loss = bpf_map_lookup_elem(&LOSS, &first);

	if (!loss)
		return TCX_NEXT;
	/* Two CPUs that turn the state at once turn it as one of them. */
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
