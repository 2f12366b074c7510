/* A daemon for the tests of record and replay. It answers packets with all that a replay must give it again: the time,
   random bytes, its process id, and the number of its timer's signals so far. A packet "bad" spoils its memory, and
   the first packet "use" after it crashes it. At a packet "large" it writes 5 MiB in one call. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <netinet/in.h>
#include <unistd.h>

volatile int ticks, packets;
char fine[] = "fine";
char *volatile memory = fine;

static void tick(int number) { (void)number; ticks++; }

static void *beside(void *argument) {
    for (int i = 0; i < 20; i++) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        usleep(1000);
    }
    return argument;
}

static unsigned long long cycles(void) {
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    unsigned long long value;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
    return value;
#endif
}

int main(int count, char **words) {
    setvbuf(stdout, NULL, _IONBF, 0);
    if (count > 1 && !strcmp(words[1], "secret")) {
        /* The processor's cycles, which come by no call. */
        char text[40];
        sprintf(text, "%032llx", cycles());
        if (write(2, text, 32) < 0) return 1;
        puts("ready");
        return 3;
    }
    struct sigaction action = {.sa_handler = tick};
    sigaction(SIGALRM, &action, NULL);
    struct itimerval every = {{0, 30000}, {0, 30000}};
    setitimer(ITIMER_REAL, &every, NULL);
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, beside, NULL);
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(5000)};
    if (bind(fd, (struct sockaddr *)&at, sizeof at) < 0) return 1;
    while (!ticks) poll(NULL, 0, 5);
    puts("ready");
    for (;;) {
        struct pollfd on = {fd, POLLIN, 0};
        if (poll(&on, 1, 50) <= 0) continue;
        char text[100] = "", answer[200];
        struct sockaddr_in from;
        socklen_t length = sizeof from;
        ssize_t size = recvfrom(fd, text, sizeof text - 1, 0, (struct sockaddr *)&from, &length);
        if (size < 0) continue;
        packets++;
        if (!strncmp(text, "bad", 3)) memory = NULL;
        if (!strncmp(text, "use", 3)) memory[0] = 'F';
        if (!strncmp(text, "end", 3)) exit(7);
        if (!strncmp(text, "large", 5)) {
            static char bytes[5 << 20];
            int null = open("/dev/null", O_WRONLY);
            if (write(null, bytes, sizeof bytes) < 0) return 1;
            close(null);
        }
        struct timeval now;
        unsigned dice;
        gettimeofday(&now, NULL);
        if (getrandom(&dice, sizeof dice, 0) < 0) return 1;
        size = snprintf(answer, sizeof answer, "%s %d %ld.%06ld %u %d %d %ld", text, packets, (long)now.tv_sec,
                        (long)now.tv_usec, dice, getpid(), ticks, (long)time(NULL));
        sendto(fd, answer, size, 0, (struct sockaddr *)&from, length);
    }
}
