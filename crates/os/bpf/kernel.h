/* Parts of the kernel's structures. The loader finds their places in the running kernel. */
#pragma once

#include <stdbool.h>

#include <linux/types.h>

#define KERNEL __attribute__((preserve_access_index))
#define NAME 16     /* the length of a task's name */
#define IFNAMSIZ 16 /* the length of an interface's name */

struct rq {
	__u64 nr_switches;
	__u64 prev_steal_time;
} KERNEL;
struct cfs_rq {
	struct rq *rq;
	int throttle_count; /* of groups that have no CPU time left, this one or one above it */
} KERNEL;
struct sched_entity {
	__u64 sum_exec_runtime;
	struct cfs_rq *cfs_rq;
} KERNEL;
struct task_struct {
	int pid;
	int tgid;
	char comm[NAME];
	struct sched_entity se;
	bool throttled; /* its group has no CPU time left; since Linux 6.18, which lets it leave the kernel first */
} KERNEL;
/* States of a task, as the kernel has them since Linux 4.14. */
#define TASK_UNINTERRUPTIBLE 0x2
#define TASK_STOPPED 0x4 /* a task that is traced is another one: it waits for its tracer, which may be a machine's */
#define TASK_DEAD 0x80
#define TASK_NOLOAD 0x400 /* beside TASK_UNINTERRUPTIBLE: idle, and not blocked */

struct irqaction;
struct hrtimer;
struct kernel_siginfo;
struct sock;

struct ns_common {
	unsigned int inum; /* the inode number of /proc/PID/ns/net */
} KERNEL;
struct net {
	struct ns_common ns;
} KERNEL;
typedef struct {
	struct net *net;
} possible_net_t;
struct net_device {
	char name[IFNAMSIZ];
	possible_net_t nd_net;
} KERNEL;
struct sk_buff {
	struct net_device *dev;
	unsigned char *head;
	__u16 network_header; /* its place, counted from `head` */
} KERNEL;
