/* The records of what each CPU did, and the memory that has them. */
#pragma once

#include <stdbool.h>

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

enum kind { SWITCH = 1, WAKING, SOFTIRQ, INTERRUPT, SIGNAL, STEAL, RENAMED, FORKED, RECLAIM };

/* One record; `Record` in src/cpus/record.rs has the same layout. What `a` to `e` hold depends on the kind:
 *
 *            a                 b              c                       d               e
 * SWITCH     task before       task after     switches of the CPU     its run time    interrupts until now
 *            (of the idle task d is how long it was idle)
 * WAKING     task woken        running task
 * SOFTIRQ    its number                                               its length
 * INTERRUPT  its number                                               its length
 * SIGNAL     its number        to this task   from this task
 * STEAL                                                               time stolen until now
 * RENAMED    the task          its process                            its name, in d and e
 * FORKED     the new task      its process    process that made it    its name, in d and e
 * RECLAIM    the task                                                 how long it looked for memory
 *
 * Tasks are by their number in the initial PID namespace. Times are in ns of CLOCK_MONOTONIC. */
struct record {
	__u64 time;
	__u32 head; /* from the lowest bits on: kind, 8 bits; flags, 8 bits, of a switch `enum left`, of a waking
		     * `enum waker`; how often the ring had gone round, from 1 on, 16 bits. Written last */
	__u32 a;
	__u32 b;
	__u32 c;
	__u64 d;
	__u64 e;
};

#define CACHE_LINE 64
#define IN_BLOCK 64 /* `IN_BLOCK` in src/cpus/programs.rs is the same */
/* Records that follow each other in a ring, in cache lines of their own. */
struct block {
	struct record records[IN_BLOCK];
};

/* What a CPU is doing, in cache lines of its own. */
struct cpu {
	__u64 head;          /* records written so far */
	__u64 softirq_began; /* 0 outside of one; the number of the softirq is in the lowest bits */
	__u64 softirq_ns;    /* time in softirqs, without interrupts within them */
	__u64 irq_began;     /* 0 outside of one */
	__u64 irq_ns;        /* time in interrupts, also those of timers */
	__u64 irq_before;    /* `irq_ns` when the softirq began */
	__u64 stolen;        /* time that the hypervisor took, when last looked at */
	__u64 timer_began;   /* 0 outside of one */
	__u64 idle_since;    /* when it went idle after the last switch that was seen; 0 if it did not */
	__u64 unused[7];
};

/* Set by the loader: `Settings` in src/cpus/programs.rs has the same layout. */
const volatile struct {
	__u32 cpus;
	__u32 blocks; /* of each CPU, a power of 2 */
	__u32 bits;   /* each CPU has 2^bits records */
} SETTINGS = {1, 1, 6};

/* The loader sets the number of entries of both. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct block);
} RECORDS SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct cpu);
} CPUS SEC(".maps");

/* When tasks began to look for memory. One that never ends goes when there are too many. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, __u64);
} RECLAIMS SEC(".maps");

/* Where and when a program runs. */
struct now {
	__u64 time;
	struct cpu *cpu;
	__u32 number; /* of the CPU */
};

/* Return this CPU's state; 0 for a CPU that came after the loader had counted them. */
static __always_inline struct cpu *this_cpu(__u32 *number)
{
	*number = bpf_get_smp_processor_id();
	return *number < SETTINGS.cpus ? bpf_map_lookup_elem(&CPUS, number) : 0;
}

/* Set where and when a program runs; return false on a CPU without state. Reading the clock is most of what a program
 * costs, so it is read once in each, and first: a call makes the compiler save what it has read before. */
static __always_inline bool begin(struct now *now)
{
	now->time = bpf_ktime_get_ns();
	now->cpu = this_cpu(&now->number);
	return now->cpu;
}

/* Return the time since a time. The clock may go back by some ns when the kernel adjusts it
 * (`ktime_get_mono_fast_ns`). */
static __always_inline __u64 since(const struct now *now, __u64 time)
{
	return now->time > time ? now->time - time : 0;
}

/* Return a block of a CPU's ring, by the number of a record in it. */
static __always_inline struct block *block(__u32 number, __u64 place)
{
	__u32 index = number * SETTINGS.blocks + (place / IN_BLOCK & (SETTINGS.blocks - 1));

	return bpf_map_lookup_elem(&RECORDS, &index);
}

/* Bring a block into the cache. Its lines are cold after a round of the ring: to wait for all of them at once takes
 * less time than to wait for one line after another as records are written. */
static __always_inline void fetch(const struct block *block)
{
#pragma unroll
	for (__u32 at = 0; at < sizeof(*block); at += CACHE_LINE)
		*(const volatile __u64 *)((const char *)block + at);
}

/* Write a record of this CPU. An interrupt may write others between the time and the place of this one. */
static __always_inline void write(const struct now *now, __u8 kind, __u8 flags, __u32 a, __u32 b, __u32 c, __u64 d,
				  __u64 e)
{
	__u64 place = __sync_fetch_and_add(&now->cpu->head, 1);
	struct block *here = block(now->number, place), *next;
	struct record *record;

	if (!here)
		return;
	record = &here->records[place % IN_BLOCK];
	record->time = now->time;
	record->a = a;
	record->b = b;
	record->c = c;
	record->d = d;
	record->e = e;
	asm volatile("" ::: "memory");
	record->head = kind | flags << 8 | ((__u32)(place >> SETTINGS.bits) + 1) << 16;
	if (place % IN_BLOCK)
		return;
	next = block(now->number, place + IN_BLOCK);
	if (next)
		fetch(next);
}
