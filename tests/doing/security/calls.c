/* Try system calls that reach the machine past a container, and print the error of each. */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void tried(const char *name, long result) {
  printf("%s: %s\n", name, result < 0 ? strerror(errno) : "done");
}

int main(void) {
  char params[256] = {0};
  tried("keyctl", syscall(SYS_keyctl, 0, -4, 0)); /* KEYCTL_GET_KEYRING_ID of the user's keyring */
  tried("add_key", syscall(SYS_add_key, "user", "delaylab-test", "x", 1, -2));
  tried("request_key", syscall(SYS_request_key, "user", "delaylab-test", 0, 0));
  tried("io_uring_setup", syscall(SYS_io_uring_setup, 1, params));
  tried("userfaultfd", syscall(SYS_userfaultfd, 1));
  tried("kcmp", syscall(SYS_kcmp, getpid(), getpid(), 1, 0, 0));
  fflush(stdout);
  if (fork() == 0) {
    tried("unshare", unshare(CLONE_NEWUSER));
    fflush(stdout);
    _exit(0);
  }
  wait(NULL);
  return 0;
}
