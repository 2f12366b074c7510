/* SPDX-License-Identifier: MIT OR GPL-2.0-only
 *
 * The kernel lets only programs under a licence that the GPL allows look into its structures.
 */
/* Record what each CPU did: which task had it, which tasks waited for it, long interrupts, signals that stop a
 * task, and time that a hypervisor took. Each CPU has a ring of records, which is always full: a new record
 * replaces the oldest one. Nothing is recorded per packet, so that traffic of others does not shorten the time
 * that a ring covers. Compiled to cpus.o by compile.sh. */
#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "cpus.h"
#include "kernel.h"

/* A trace point's arguments are by their place, and not all of them are used. */
#pragma clang diagnostic ignored "-Wunused-parameter"

#define LONG_NS 20000 /* interrupts from this length on have a record of their own */
#define RECLAIM_NS 2000 /* the same for a task that looks for memory, which it does again and again */
#define SIGKILL 9
#define SIGCONT 18
#define SIGSTOP 19
#define NOT_IDLE 0xffffffff /* the state of a CPU that is not idle any more (PWR_EVENT_EXIT) */
#define NUMBER 0xfULL /* the bits of a softirq's number */
#define TIMERS 0xffffffff /* the number of an interrupt by a high-resolution timer */

/* How a task leaves its CPU. BLOCKED is a wait that a signal does not end, such as that for a disk; of THROTTLED the
 * group has used up its CPU time. */
enum left { RUNNABLE, ASLEEP, BLOCKED, STOPPED, ENDED, THROTTLED };

/* What woke a task; but for BY_TASK the running task was only interrupted. BY_NETWORK is the softirq of packets, which
 * also runs within the call of a task that sends. */
enum waker { BY_TASK, BY_TIMER, BY_INTERRUPT, BY_NETWORK, BY_SOFTIRQ };
/* Numbers of softirqs, as the kernel has them since Linux 4.11. */
enum softirq { TIMER_SOFTIRQ = 1, NET_TX_SOFTIRQ = 2, NET_RX_SOFTIRQ = 3, HRTIMER_SOFTIRQ = 8 };

/* Time in interrupts and softirqs of this CPU until now, in two counts of 64 ns: softirqs in the upper half. */
static __always_inline __u64 interrupted(const struct cpu *cpu)
{
	return cpu->softirq_ns >> 6 << 32 | (cpu->irq_ns >> 6 & 0xffffffff);
}

static __always_inline bool throttled(struct task_struct *task)
{
	if (bpf_core_field_exists(task->throttled))
		return task->throttled;
	return bpf_core_field_exists(task->se.cfs_rq->throttle_count) && task->se.cfs_rq->throttle_count > 0;
}

static __always_inline __u8 left(struct task_struct *task, bool preempt, unsigned int state)
{
	if (preempt || !state)
		return throttled(task) ? THROTTLED : RUNNABLE;
	if (state & TASK_DEAD)
		return ENDED;
	if (state & TASK_STOPPED)
		return STOPPED;
	return state & TASK_UNINTERRUPTIBLE && !(state & TASK_NOLOAD) ? BLOCKED : ASLEEP;
}

static __always_inline __u64 idle_for(const struct now *now)
{
	return now->cpu->idle_since ? since(now, now->cpu->idle_since) : 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next, unsigned int state)
{
	struct now now;
	struct rq *queue;
	__u64 stolen, ran;

	if (!begin(&now))
		return 0;
	queue = next->se.cfs_rq->rq;
	stolen = bpf_core_field_exists(queue->prev_steal_time) ? queue->prev_steal_time : 0;
	if (stolen != now.cpu->stolen) {
		now.cpu->stolen = stolen;
		write(&now, STEAL, 0, 0, 0, 0, stolen, 0);
	}
	ran = prev->pid ? prev->se.sum_exec_runtime : idle_for(&now);
	now.cpu->idle_since = 0;
	write(&now, SWITCH, left(prev, preempt, state), prev->pid, next->pid, queue->nr_switches, ran,
	      interrupted(now.cpu));
	return 0;
}

/* The kernel hides switches of some tasks, and so when a CPU went idle after one. This tells. */
SEC("tp_btf/cpu_idle")
int BPF_PROG(on_idle, unsigned int state, unsigned int of)
{
	__u32 number;
	struct cpu *cpu = this_cpu(&number);

	if (cpu && state != NOT_IDLE && !cpu->idle_since)
		cpu->idle_since = bpf_ktime_get_ns();
	return 0;
}

/* Return what wakes a task on this CPU now. */
static __always_inline __u8 waker(const struct cpu *cpu)
{
	if (cpu->timer_began)
		return BY_TIMER;
	if (cpu->irq_began)
		return BY_INTERRUPT;
	if (!cpu->softirq_began)
		return BY_TASK;
	switch (cpu->softirq_began & NUMBER) {
	case NET_TX_SOFTIRQ:
	case NET_RX_SOFTIRQ:
		return BY_NETWORK;
	case TIMER_SOFTIRQ:
	case HRTIMER_SOFTIRQ:
		return BY_TIMER;
	default:
		return BY_SOFTIRQ;
	}
}

SEC("tp_btf/sched_waking")
int BPF_PROG(on_waking, struct task_struct *task)
{
	struct now now;

	if (begin(&now))
		write(&now, WAKING, waker(now.cpu), task->pid, (__u32)bpf_get_current_pid_tgid(), 0, 0, 0);
	return 0;
}

/* A new task is not woken: it begins to wait for a CPU. */
SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(on_new, struct task_struct *task)
{
	struct now now;

	if (begin(&now))
		write(&now, WAKING, BY_TASK, task->pid, (__u32)bpf_get_current_pid_tgid(), 0, 0, 0);
	return 0;
}

SEC("tp_btf/softirq_entry")
int BPF_PROG(on_softirq_entry, unsigned int softirq)
{
	__u32 number;
	struct cpu *cpu = this_cpu(&number);

	if (cpu) {
		cpu->irq_before = cpu->irq_ns;
		cpu->softirq_began = (bpf_ktime_get_ns() & ~NUMBER) | (softirq & NUMBER);
	}
	return 0;
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(on_softirq_exit, unsigned int softirq)
{
	struct now now;
	__u64 took, irq;

	if (!begin(&now) || !now.cpu->softirq_began)
		return 0;
	took = since(&now, now.cpu->softirq_began & ~NUMBER);
	irq = now.cpu->irq_ns - now.cpu->irq_before;
	now.cpu->softirq_began = 0;
	/* An interrupt may have come after `irq_before` was read, and before the softirq began. */
	took = took > irq ? took - irq : 0;
	now.cpu->softirq_ns += took;
	if (took >= LONG_NS)
		write(&now, SOFTIRQ, 0, softirq, 0, 0, took, interrupted(now.cpu));
	return 0;
}

/* An interrupt ended that began then, or a timer within one. */
static __always_inline void end_interrupt(const struct now *now, __u64 *began, __u32 irq)
{
	__u64 took;

	if (!*began)
		return;
	took = since(now, *began);
	*began = 0;
	now->cpu->irq_ns += took;
	if (took >= LONG_NS)
		write(now, INTERRUPT, 0, irq, 0, 0, took, interrupted(now->cpu));
}

SEC("tp_btf/irq_handler_entry")
int BPF_PROG(on_interrupt_entry, int irq, struct irqaction *action)
{
	struct now now;

	if (begin(&now))
		now.cpu->irq_began = now.time;
	return 0;
}

SEC("tp_btf/irq_handler_exit")
int BPF_PROG(on_interrupt_exit, int irq, struct irqaction *action, int handled)
{
	struct now now;

	if (begin(&now))
		end_interrupt(&now, &now.cpu->irq_began, irq);
	return 0;
}

/* The interrupt of a CPU's own timer is no `irq_handler`. The loader puts these programs at that interrupt, or at each
 * timer where the kernel has no trace point for it. */
SEC("tp_btf/local_timer_entry")
int BPF_PROG(on_timer_entry)
{
	struct now now;

	if (begin(&now))
		now.cpu->timer_began = now.time;
	return 0;
}

SEC("tp_btf/local_timer_exit")
int BPF_PROG(on_timer_exit)
{
	struct now now;

	if (begin(&now))
		end_interrupt(&now, &now.cpu->timer_began, TIMERS);
	return 0;
}

/* A task that gets no memory looks for some itself, for its group or for the machine. */
static __always_inline int begin_reclaim(void)
{
	__u32 task = (__u32)bpf_get_current_pid_tgid();
	__u64 began = bpf_ktime_get_ns();

	bpf_map_update_elem(&RECLAIMS, &task, &began, BPF_ANY);
	return 0;
}

static __always_inline int end_reclaim(void)
{
	__u32 task = (__u32)bpf_get_current_pid_tgid();
	__u64 *began = bpf_map_lookup_elem(&RECLAIMS, &task);
	struct now now;
	bool known = begin(&now);
	__u64 took = began ? since(&now, *began) : 0;

	if (known && took >= RECLAIM_NS)
		write(&now, RECLAIM, 0, task, 0, 0, took, 0);
	bpf_map_delete_elem(&RECLAIMS, &task);
	return 0;
}

SEC("tp_btf/mm_vmscan_direct_reclaim_begin")
int BPF_PROG(on_reclaim_begin)
{
	return begin_reclaim();
}

SEC("tp_btf/mm_vmscan_direct_reclaim_end")
int BPF_PROG(on_reclaim_end)
{
	return end_reclaim();
}

SEC("tp_btf/mm_vmscan_memcg_reclaim_begin")
int BPF_PROG(on_group_reclaim_begin)
{
	return begin_reclaim();
}

SEC("tp_btf/mm_vmscan_memcg_reclaim_end")
int BPF_PROG(on_group_reclaim_end)
{
	return end_reclaim();
}

SEC("tp_btf/signal_generate")
int BPF_PROG(on_signal, int signal, struct kernel_siginfo *info, struct task_struct *task)
{
	struct now now;

	if (signal != SIGSTOP && signal != SIGCONT && signal != SIGKILL)
		return 0;
	if (begin(&now))
		write(&now, SIGNAL, 0, signal, task->pid, (__u32)bpf_get_current_pid_tgid(), 0, 0);
	return 0;
}

/* Record a task's name, which nothing tells once the task has ended. */
static __always_inline int named(struct task_struct *task, __u8 kind, __u32 maker)
{
	__u64 words[NAME / 8] = {};
	struct now now;

	if (!begin(&now))
		return 0;
	bpf_probe_read_kernel(words, NAME, task->comm);
	write(&now, kind, 0, task->pid, task->tgid, maker, words[0], words[1]);
	return 0;
}

/* A task begins. One that ends soon is gone before anybody asks what it is a part of. */
SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	return named(child, FORKED, parent->tgid);
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	return named(task, RENAMED, 0);
}

/* A task takes another name: what it was called before is recorded; /proc has the new one. */
SEC("tp_btf/task_rename")
int BPF_PROG(on_rename, struct task_struct *task, const char *name)
{
	return named(task, RENAMED, 0);
}

const char SOURCES_[] SEC("sources") = SOURCES;
char LICENSE[] SEC("license") = "Dual MIT/GPL";
