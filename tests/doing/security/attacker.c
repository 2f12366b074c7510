/* A program of a stranger's recording: it tries what it must not do, and prints each thing that it could do.
   Arguments: a file to write, a file to read, and what to do in the end. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static void could(const char *what, int yes)
{
    if (yes) {
        printf("could: %s\n", what);
        fflush(stdout);
    }
}

static int opens(const char *path, int flags)
{
    int fd = open(path, flags | O_NONBLOCK, 0644);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

int main(int argc, char **argv)
{
    const char *own = argv[0], *to_write = argv[1], *to_read = argv[2];
    char text[4096];
    struct rlimit limit = {0, 0};
    struct stat about;
    int fd;

    printf("ran \033]0;title\a\n");
    fflush(stdout);
    could("is root", getuid() == 0 && setuid(1) == 0);
    could("becomes root", geteuid() == 0 && getenv("AS_ROOT") != NULL);
    could("write a file", opens(to_write, O_WRONLY | O_CREAT));
    could("write to /tmp", opens("/tmp/made", O_WRONLY | O_CREAT));
    could("write to /usr", opens("/usr/made", O_WRONLY | O_CREAT));
    could("change itself", opens(own, O_WRONLY) || chmod(own, 0777) == 0);
    could("read a file", opens(to_read, O_RDONLY));
    could("read secrets", opens("/etc/shadow", O_RDONLY));
    could("see processes", opens("/proc/1/cmdline", O_RDONLY) || opens("/proc/self/environ", O_RDONLY));
    could("find a terminal", opens("/dev/tty", O_RDWR));
    could("find devices", opens("/dev/zero", O_RDONLY) || mknod("/tmp/null", S_IFCHR | 0666, 0x103) == 0);
    could("start a process", (fd = fork()) >= 0);
    if (fd == 0)
        _exit(0);
    could("start one by vfork", syscall(SYS_clone, CLONE_VM | CLONE_VFORK | SIGCHLD, 0, 0, 0, 0) >= 0);
    could("have a namespace", unshare(CLONE_NEWUSER) == 0 || unshare(CLONE_NEWNS) == 0);
    could("mount", mount("none", "/tmp", "tmpfs", 0, "") == 0 || umount2("/", MNT_DETACH) == 0);
    could("hear packets", socket(AF_PACKET, SOCK_RAW, 0) >= 0);
    could("have a socket", socket(AF_INET, SOCK_DGRAM, 0) >= 0 || socket(AF_UNIX, SOCK_STREAM, 0) >= 0);
    could("signal others", kill(1, 0) == 0 || kill(getppid(), 0) == 0 || kill(-1, 0) == 0);
    could("signal others by a descriptor", fcntl(1, F_SETOWN, 1) == 0 || fcntl(1, F_SETSIG, SIGKILL) == 0);
    could("trace others", ptrace(PTRACE_ATTACH, getppid(), 0, 0) == 0 || ptrace(PTRACE_TRACEME, 0, 0, 0) == 0);
    could("limit others", syscall(SYS_prlimit64, 1, RLIMIT_NOFILE, &limit, NULL) == 0);
    could("type into a terminal", ioctl(0, TIOCSTI, "x") == 0 || ioctl(1, TIOCSTI, "x") == 0);
    could("keep memory", syscall(SYS_memfd_create, "x", 0) >= 0);
    could("use keys", syscall(SYS_keyctl, 0, -3, 1) >= 0 || errno != ENOSYS);
    could("load programs", syscall(SYS_bpf, 0, 0, 0) >= 0 || errno != ENOSYS);
    for (fd = 3; fd < 2048; fd++) {
        if (fstat(fd, &about) < 0)
            continue;
        could("grow or cut a file", ftruncate(fd, 1 << 30) == 0 || ftruncate(fd, 0) == 0);
        could("hold a folder", S_ISDIR(about.st_mode));
        /* The page says nonsense, or that the replay came to a call. */
        memset(text, 0xff, sizeof text);
        if (argc > 3 && !strcmp(argv[3], "until"))
            memcpy(memset(text, 0, sizeof text), "\3", 1);
        pwrite(fd, text, sizeof text, 0);
    }
    /* Last: another program. It has no more rights. */
    snprintf(text, sizeof text, "echo could run sh; echo > '%s'", to_write);
    if (argc > 3 && !strcmp(argv[3], "exec")) {
        execle("/bin/sh", "sh", "-c", text, NULL, (char *[]){NULL});
        printf("no shell\n");
    }
    if (argc > 3 && !strcmp(argv[3], "flood")) {
        memset(text, 'x', sizeof text);
        for (int i = 0; i < 1024; i++)
            fwrite(text, 1, sizeof text, stdout);
    }
    fflush(stdout);
    return 7;
}
