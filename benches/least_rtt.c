// A minimal program that measures RTT: it reads the clock, sends an ICMP echo, receives the reply
// and reads the clock again. It receives once before each echo, so that this code is in the caches.
// It prints each RTT to the program in ns, one a line.
// Usage: least_rtt ADDRESS COUNT INTERVAL_NS
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>

#define DEADLINE_NS 500000000L

static long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return time.tv_sec * 1000000000L + time.tv_nsec;
}

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    long count = atol(argv[2]);
    struct timespec interval = {0, atol(argv[3])};
    struct sockaddr_in to = {.sin_family = AF_INET};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, IPPROTO_ICMP);
    if (inet_pton(AF_INET, argv[1], &to.sin_addr) != 1 || fd < 0 ||
        connect(fd, (void *)&to, sizeof to)) {
        perror("least_rtt");
        return 1;
    }
    prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
    char echo[64] = {8}, reply[128];
    for (long i = 0; i < count; i++) {
        nanosleep(&interval, NULL);
        recv(fd, reply, sizeof reply, MSG_DONTWAIT);
        now();
        long sent = now(), arrived;
        ssize_t length = send(fd, echo, sizeof echo, 0);
        do {
            length = recv(fd, reply, sizeof reply, MSG_DONTWAIT);
            arrived = now();
        } while (length < 0 && arrived - sent < DEADLINE_NS);
        if (length > 0) printf("%ld\n", arrived - sent);
    }
}
