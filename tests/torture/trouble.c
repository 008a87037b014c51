/* Preloaded into Holdfast's processes by the torture tests: fork fails, or a write kills the process or fails.

   TROUBLE_FORK=N      forks after the first N of a process fail with EAGAIN.
   TROUBLE_COUNT=FILE  counts changes of files below TROUBLE_BELOW, over all processes; the file holds two int64: how
                       many there were, and the number at which to act, from 1.
   TROUBLE_ACT=ERRNO   fail with it from that change on; without it, the process is killed there (with -9), after half of
                       the bytes of a write. A full disk removes files all the same.
   TROUBLE_ALL=1       kill the first process that counted too, and the groups of both.
   TROUBLE_SIGNAL=NUMBER  instead, send the process that signal there, and go on.
   TROUBLE_RUN=COMMAND instead, run a command there, before what is written, and go on. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static int64_t *counter(void) {
    static int64_t *shared;
    const char *file = getenv("TROUBLE_COUNT");
    if (!shared && file) {
        int fd = REAL(open)(file, O_RDWR | O_CLOEXEC);
        if (fd >= 0) {
            shared = mmap(NULL, 16, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
            if (shared == MAP_FAILED) shared = NULL;
            close(fd);
            char first[32];
            snprintf(first, sizeof first, "%d", getpid());
            setenv("TROUBLE_FIRST", first, 0);
        }
    }
    return shared;
}

/* Count one change: 0 to go on, 1 to act now. */
static int act(void) {
    int64_t *shared = counter();
    if (!shared) return 0;
    int64_t number = __atomic_add_fetch(&shared[0], 1, __ATOMIC_SEQ_CST);
    if (shared[1] <= 0) return 0;
    const char *signal = getenv("TROUBLE_SIGNAL");
    if (signal) {
        if (number == shared[1]) kill(getpid(), atoi(signal));
        return 0;
    }
    return getenv("TROUBLE_ACT") ? number >= shared[1] : number == shared[1];
}

static int fail(void) {
    const char *code = getenv("TROUBLE_ACT");
    if (!code) {
        if (getenv("TROUBLE_ALL")) {
            kill(-getpgid(atoi(getenv("TROUBLE_FIRST"))), SIGKILL);
            kill(0, SIGKILL);
        }
        kill(getpid(), SIGKILL);
        for (;;) pause();
    }
    errno = atoi(code);
    return -1;
}

static int full(void) {
    const char *code = getenv("TROUBLE_ACT");
    return code && atoi(code) == ENOSPC;
}

static int below(const char *path) {
    const char *top = getenv("TROUBLE_BELOW");
    return top && path && strncmp(path, top, strlen(top)) == 0;
}

static int counted(int fd) {
    char name[64], path[4096];
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(name, path, sizeof path - 1);
    if (length <= 0) return 0;
    path[length] = 0;
    return below(path);
}

pid_t fork(void) {
    static int made;
    const char *left = getenv("TROUBLE_FORK");
    counter();
    if (left && made++ >= atoi(left)) {
        errno = EAGAIN;
        return -1;
    }
    return REAL(fork)();
}

ssize_t write(int fd, const void *data, size_t size) {
    if (counter() && counted(fd) && act()) {
        const char *command = getenv("TROUBLE_RUN");
        if (command) {
            int broken = system(command);
            return broken ? fail() : REAL(write)(fd, data, size);
        }
        if (!getenv("TROUBLE_ACT") && size > 1) (void)!REAL(write)(fd, data, size / 2);
        return fail();
    }
    return REAL(write)(fd, data, size);
}

#define PWRITE(name, type)                                                        \
    ssize_t name(int fd, const void *data, size_t size, type at) {                \
        if (counter() && counted(fd) && !getenv("TROUBLE_RUN") && act()) {        \
            if (!getenv("TROUBLE_ACT") && size > 1) (void)!REAL(name)(fd, data, size / 2, at); \
            return fail();                                                        \
        }                                                                         \
        return REAL(name)(fd, data, size, at);                                    \
    }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

#define CHANGE(name, parameters, arguments, path)                                 \
    int name parameters {                                                         \
        if (counter() && below(path) && !getenv("TROUBLE_RUN") && act()) return fail(); \
        return REAL(name) arguments;                                              \
    }
#define REMOVE(name, path)                                                        \
    int name(const char *path) {                                                  \
        if (counter() && below(path) && !getenv("TROUBLE_RUN") && !full() && act()) return fail(); \
        return REAL(name)(path);                                                  \
    }
CHANGE(rename, (const char *from, const char *to), (from, to), to)
CHANGE(renameat, (int a, const char *from, int b, const char *to), (a, from, b, to), to)
CHANGE(renameat2, (int a, const char *from, int b, const char *to, unsigned f), (a, from, b, to, f), to)
CHANGE(link, (const char *from, const char *to), (from, to), to)
CHANGE(linkat, (int a, const char *from, int b, const char *to, int f), (a, from, b, to, f), to)
CHANGE(symlink, (const char *from, const char *to), (from, to), to)
REMOVE(unlink, path)
REMOVE(rmdir, path)
CHANGE(mkdir, (const char *path, mode_t mode), (path, mode), path)

#define TRUNCATE(name, type)                                                      \
    int name(int fd, type size) {                                                 \
        if (counter() && counted(fd) && !getenv("TROUBLE_RUN") && act()) return fail(); \
        return REAL(name)(fd, size);                                              \
    }
TRUNCATE(ftruncate, off_t)
TRUNCATE(ftruncate64, off64_t)
