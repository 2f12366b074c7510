/* Try what a program without rights must not do; print as JSON what could be done (1) and what not (0). */
#define _GNU_SOURCE
#include <fcntl.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    const char *settings = "/proc/sys/kernel/core_pattern";
    printf("{\"called\": \"%s\", \"argument\": \"%s\", ", argv[0], argc > 1 ? argv[1] : "");
    printf("\"variable\": \"%s\", ", getenv("GIVEN"));
    printf("\"null\": %d, ", open("/dev/null", O_RDWR) >= 0);
    printf("\"root\": %d, ", getuid() == 0);
    printf("\"becomes root\": %d, ", setuid(0) == 0);
    printf("\"reads users\": %d, ", open("/etc/passwd", O_RDONLY) >= 0);
    printf("\"mounts\": %d, ", mount("none", "/proc", "tmpfs", 0, "") == 0);
    printf("\"hears packets\": %d, ", socket(AF_PACKET, SOCK_RAW, 0) >= 0);
    printf("\"sees a card\": %d, ", if_nametoindex(argc > 2 ? argv[2] : "eth0") != 0);
    printf("\"changes itself\": %d, ", open("/probe", O_WRONLY) >= 0);
    printf("\"sets the kernel\": %d}\n", open(settings, O_WRONLY) >= 0);
    return 0;
}
