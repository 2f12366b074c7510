/* Takes away what comes in by an interface, once everyone who watches has seen it. Compiled to
 * drop.o by compile.sh. */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>

#include <bpf/bpf_helpers.h>

/* Not yet in the headers of Debian 12. */
enum { TCX_DROP = 2 };

SEC("classifier")
int drop_all(struct __sk_buff *skb __attribute__((unused)))
{
	return TCX_DROP;
}

const char SOURCES_[] SEC("sources") = SOURCES;
char LICENSE[] SEC("license") = "Apache-2.0";
