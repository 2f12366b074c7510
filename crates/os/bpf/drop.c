/* Drop all frames that an interface receives. The program runs behind packet sockets and the programs of
 * taps, which have seen the frames by then. Compiled to drop.o by compile.sh. */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>

#include <bpf/bpf_helpers.h>

SEC("classifier")
int drop_all(struct __sk_buff *skb __attribute__((unused)))
{
	return TC_ACT_SHOT;
}

const char SOURCES_[] SEC("sources") = SOURCES;
char LICENSE[] SEC("license") = "Apache-2.0";
