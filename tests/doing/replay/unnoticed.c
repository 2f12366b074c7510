/* Do what programs do with files and the machine, and print it: none of it differs in a replay. Streams have
   descriptors, as they have without a recording. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/file.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <time.h>
#include <unistd.h>

static void streams(void)
{
    char line[256] = "";
    struct stat about;
    FILE *file = fopen("/etc/hostname", "r");
    int own = fileno(file), taken = dup(own);
    printf("descriptor %d, next %d, size %d\n", own >= 0, taken - own, fstat(own, &about));
    printf("lock %d\n", flock(own, LOCK_SH));
    close(taken);
    fclose(file);
    file = fdopen(open("/proc/uptime", O_RDONLY), "r");
    printf("up %s", fgets(line, sizeof line, file));
    fclose(file);
    unsigned number = 0;
    file = fopen("/dev/urandom", "r");
    setvbuf(file, NULL, _IONBF, 0);
    printf("random %zu %u\n", fread(&number, 4, 1, file), number);
    fclose(file);
    printf("input is %d\n", freopen("/proc/self/stat", "r", stdin) ? fileno(stdin) : -1);
    printf("it has %s", fgets(line, sizeof line, stdin));
    file = fopen("written", "w+");
    fprintf(file, "one\ntwo\n");
    rewind(file);
    printf("back %s", fgets(line, sizeof line, file));
    fclose(file);
}

/* A file of more than 4 MiB is read whole. */
static void large(void)
{
    char piece[4096];
    size_t all = 0, count;
    FILE *file = fopen("large", "w");
    memset(piece, 'x', sizeof piece);
    for (int i = 0; i < 1500; i++)
        fwrite(piece, 1, sizeof piece, file);
    fclose(file);
    file = fopen("large", "r");
    while ((count = fread(piece, 1, sizeof piece, file)) > 0)
        all += count;
    printf("large %zu\n", all);
    fclose(file);
}

static void machine(void)
{
    struct sysinfo memory;
    struct statfs disk;
    struct timespec now;
    double load[3];
    unsigned random;
    char name[] = "madeXXXXXX";
    int pair[2], file = open("/etc/hostname", O_RDONLY), made;
    for (volatile int i = 0; i < 9000000; i++) {}
    sysinfo(&memory);
    statfs("/", &disk);
    timespec_get(&now, TIME_UTC);
    getloadavg(load, 3);
    syscall(SYS_getrandom, &random, 4, 0);
    printf("%ld %lu %lu %ld %g %u\n", clock(), memory.freeram, (long)disk.f_bfree, now.tv_nsec, load[0], random);
    printf("pages %ld\n", sysconf(_SC_AVPHYS_PAGES));
    printf("start %02x\n", *(unsigned char *)getauxval(AT_RANDOM));
    made = mkstemp(name);
    printf("made %s\n", name);
    close(made);
    socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    printf("sent %ld\n", (long)sendfile(pair[0], file, NULL, 100));
    DIR *folder = opendir("/proc/self/task");
    for (struct dirent *each; (each = readdir(folder));)
        printf("task %s\n", each->d_name);
    closedir(folder);
    char *path = realpath("/proc/self/exe", NULL), *here = getcwd(NULL, 0);
    printf("%s %s\n", path, here);
    free(path);
    free(here);
}

int main(int count, char **words)
{
    struct ifaddrs *all;
    puts("ready");
    fflush(stdout);
    if (chdir(words[1]) < 0)
        return 1;
    streams();
    large();
    machine();
    if (count > 2)
        getifaddrs(&all);
    fflush(stdout);
    pause();
    return 0;
}
