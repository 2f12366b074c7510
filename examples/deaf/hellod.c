/* A routing daemon's hello packets, in the manner of Quagga: one loop, and handlers that are posted for one event each.
   It has a fault, which shows only now and then. docs/record-and-replay.md finds it by a recording.

       cc -g -o /tmp/hellod hellod.c
       hellod NAME CARRIER_DELAY_MS INTERFACE …

   It says hello on each interface, and prints which neighbour it has found or lost there. An interface that loses its
   carrier is not used until it has had it again for the carrier delay, so that a cable that flaps is left alone. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

enum { PORT = 5520, HELLO_MS = 400, DEAD_MS = 1600, MOST = 8 };

/* The loop: who waits for a descriptor, and who for a time. */
typedef void handler(int argument);
struct reader { handler *call; int fd; };
struct timer { handler *call; int argument; long long at_ms; };
static struct reader readers[MOST];
static struct timer timers[4 * MOST];
static int reader_count, timer_count;

static long long now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

static void post_read(handler *call, int fd) { readers[reader_count++] = (struct reader){call, fd}; }

static void cancel_timer(handler *call, int argument) {
    for (int i = 0; i < timer_count; i++)
        if (timers[i].call == call && timers[i].argument == argument) timers[i--] = timers[--timer_count];
}

static void post_timer(handler *call, int argument, int ms) {
    cancel_timer(call, argument);
    timers[timer_count++] = (struct timer){call, argument, now_ms() + ms};
}

static void run_loop(void) {
    for (;;) {
        struct pollfd wanted[MOST];
        struct reader waiting[MOST];
        int count = reader_count, first = -1, wait_ms = -1;
        for (int i = 0; i < count; i++) {
            waiting[i] = readers[i];
            wanted[i] = (struct pollfd){waiting[i].fd, POLLIN, 0};
        }
        for (int i = 0; i < timer_count; i++)
            if (first < 0 || timers[i].at_ms < timers[first].at_ms) first = i;
        if (first >= 0) {
            long long left_ms = timers[first].at_ms - now_ms();
            wait_ms = left_ms < 0 ? 0 : (int)left_ms;
        }
        if (poll(wanted, count, wait_ms) == 0 && first >= 0) {
            struct timer due = timers[first];
            timers[first] = timers[--timer_count];
            due.call(due.argument);
            continue;
        }
        reader_count = 0;
        for (int i = 0; i < count; i++)
            if (!wanted[i].revents) post_read(waiting[i].call, waiting[i].fd);
        for (int i = 0; i < count; i++)
            if (wanted[i].revents) waiting[i].call(waiting[i].fd);
    }
}

/* The daemon. */
struct interface { const char *name; int index, is_enabled; char neighbour[32]; };
static struct interface interfaces[MOST];
static int interface_count, carrier_delay_ms, hello_socket;
static const char *own_name;

static struct interface *interface_of(int index) {
    for (int i = 0; i < interface_count; i++)
        if (interfaces[i].index == index) return &interfaces[i];
    return NULL;
}

static void enable(int number) {
    interfaces[number].is_enabled = 1;
    printf("%s: up\n", interfaces[number].name);
}

static void lose(int number) {
    printf("%s: lost %s\n", interfaces[number].name, interfaces[number].neighbour);
    interfaces[number].neighbour[0] = 0;
}

static void change_carrier(struct interface *of, int has_carrier) {
    int number = of - interfaces;
    if (has_carrier && !of->is_enabled) {
        post_timer(enable, number, carrier_delay_ms);
    } else if (!has_carrier) {
        cancel_timer(enable, number);
        if (of->is_enabled) printf("%s: down\n", of->name);
        of->is_enabled = 0;
    }
}

static void link_read(int fd) {
    char bytes[16384];
    int size = recv(fd, bytes, sizeof bytes, 0);
    for (struct nlmsghdr *each = (void *)bytes; NLMSG_OK(each, size); each = NLMSG_NEXT(each, size)) {
        struct ifinfomsg *news = NLMSG_DATA(each);
        struct interface *of = each->nlmsg_type == RTM_NEWLINK ? interface_of(news->ifi_index) : NULL;
        if (of) change_carrier(of, (news->ifi_flags & IFF_RUNNING) != 0);
    }
    post_read(link_read, fd);
}

union control { char bytes[CMSG_SPACE(sizeof(struct in_pktinfo))]; struct cmsghdr aligned; };

/* Read a packet; return the interface by which it came. */
static struct interface *receive(int fd, char *name, size_t most) {
    union control control;
    struct iovec into = {name, most - 1};
    struct msghdr packet = {.msg_iov = &into, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    ssize_t size = recvmsg(fd, &packet, 0);
    name[size < 0 ? 0 : size] = 0;
    struct cmsghdr *about = size < 0 ? NULL : CMSG_FIRSTHDR(&packet);
    return about ? interface_of(((struct in_pktinfo *)CMSG_DATA(about))->ipi_ifindex) : NULL;
}

static void hello_read(int fd) {
    char name[32];
    struct interface *on = receive(fd, name, sizeof name);
    if (!on || !on->is_enabled)
        return; /* of a wrong interface */
    if (strcmp(on->neighbour, name)) {
        strcpy(on->neighbour, name);
        printf("%s: found %s\n", on->name, name);
    }
    post_timer(lose, on - interfaces, DEAD_MS);
    post_read(hello_read, fd);
}

static void say_hello(int unused) {
    struct sockaddr_in all = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    inet_aton("224.0.0.120", &all.sin_addr);
    for (int i = 0; i < interface_count; i++) {
        struct ip_mreqn by = {.imr_ifindex = interfaces[i].index};
        setsockopt(hello_socket, IPPROTO_IP, IP_MULTICAST_IF, &by, sizeof by);
        if (interfaces[i].is_enabled)
            sendto(hello_socket, own_name, strlen(own_name), 0, (struct sockaddr *)&all, sizeof all);
    }
    post_timer(say_hello, unused, HELLO_MS);
}

static void fail(const char *what) { perror(what); exit(1); }

static void open_hello_socket(void) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    int yes = 1, no = 0;
    hello_socket = socket(AF_INET, SOCK_DGRAM, 0);
    setsockopt(hello_socket, IPPROTO_IP, IP_PKTINFO, &yes, sizeof yes);
    setsockopt(hello_socket, IPPROTO_IP, IP_MULTICAST_LOOP, &no, sizeof no);
    if (bind(hello_socket, (struct sockaddr *)&at, sizeof at) < 0) fail("bind");
    for (int i = 0; i < interface_count; i++) {
        struct ip_mreqn group = {.imr_ifindex = interfaces[i].index};
        inet_aton("224.0.0.120", &group.imr_multiaddr);
        if (setsockopt(hello_socket, IPPROTO_IP, IP_ADD_MEMBERSHIP, &group, sizeof group) < 0) fail("join");
    }
    post_read(hello_read, hello_socket);
}

static void open_link_socket(void) {
    struct sockaddr_nl links = {.nl_family = AF_NETLINK, .nl_groups = RTMGRP_LINK};
    int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
    if (bind(fd, (struct sockaddr *)&links, sizeof links) < 0) fail("netlink");
    post_read(link_read, fd);
}

int main(int count, char **words) {
    if (count < 4 || count - 3 > MOST) {
        fprintf(stderr, "hellod NAME CARRIER_DELAY_MS INTERFACE … (at most %d)\n", MOST);
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    own_name = words[1];
    carrier_delay_ms = atoi(words[2]);
    for (interface_count = 0; interface_count < count - 3; interface_count++) {
        char *name = words[3 + interface_count];
        interfaces[interface_count] = (struct interface){.name = name, .index = if_nametoindex(name), .is_enabled = 1};
    }
    open_link_socket();
    open_hello_socket();
    say_hello(0);
    run_loop();
}
