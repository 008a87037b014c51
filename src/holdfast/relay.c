/* The relay: has an event answered by the warm server or, failing that, starts the Python entrypoint.

   `holdfast install` puts it in the launcher's place (`run`), with a file `run.conf` beside it that names what it may
   start. No event is read, judged or answered here. server/protocol.py describes what it says and hears;
   docs/security.md says how to audit and rebuild it.

   - Before GO any doubt starts the interpreter with the entrypoint, which reads the event itself (`start`).
   - After GO the server's child answers the event once, or not at all. Its reply is printed when all of it is here.
     Otherwise `refuse.sh` decides whether the event is refused (`refuse`): it knows the strict handlers.
   - The environment chooses where the server's socket is, as it chooses the home. What is started, only run.conf does.
   - Memory is static, but for the reply. Every descriptor is closed on exec.
   - The exit code is the child's, or 1 if not even the shell can be started: the registered command then tries.

   With `--status` the answer is the client's status line instead of a reply. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#ifndef SOURCE
#define SOURCE "unknown" /* the start of this file's SHA-256, by which `holdfast doctor` knows an outdated relay */
#endif
#ifndef READY_TIMEOUT_MS /* tests set another */
#define READY_TIMEOUT_MS 1000
#endif
#ifndef FINISH_TIMEOUT_MS /* for what handlers do once the reply is delivered */
#define FINISH_TIMEOUT_MS 20000
#endif

enum {
    HEAD = 8,                    /* digits of a request's length */
    REQUEST_BYTES = 1 << 20,     /* the longest request; a longer one is left to the entrypoint */
    REPLY_BYTES = 256 << 20,     /* the longest text of a reply */
    PATH_BYTES = 4096,           /* the longest path, with its final zero */
    CONF_BYTES = 4 * PATH_BYTES, /* the longest run.conf */
    FRAME_BYTES = 10             /* a message's kind, exit code and two numbers of four bytes */
};
enum { PROTOCOL = 2, READY = 'r', GO = 'g', REPLY = '=', REFUSE = '!', WRITTEN = 'w' }; /* see server/protocol.py */
enum heard { DATA, ENDED, TIMED_OUT, TERMINATED };

#define CONF_HEAD "holdfast relay 1"

struct frame {
    unsigned char kind, code;
    uint32_t first, second;
};
struct conf { /* run.conf: CONF_HEAD, then one absolute path a line */
    const char *interpreter, *entry, *refuse;
};

static struct {
    sigset_t waiting;           /* the signals blocked while waiting */
    void (*pipe)(int);          /* what SIGPIPE did before */
    sigset_t before;            /* the signals blocked before */
} process;
static volatile sig_atomic_t terminated;
static char request[REQUEST_BYTES];
extern char **environ;

/* --- run.conf ------------------------------------------------------------------------------------------------------ */

/* Split `text`, which has a final zero at text[length], into its lines. Return whether it is a run.conf. */
static int parse_conf(char *text, size_t length, struct conf *found) {
    const char *lines[4];
    size_t from = 0;
    for (int each = 0; each < 4; each++) {
        char *end = from < length ? memchr(text + from, '\n', length - from) : NULL;
        if (!end || memchr(text + from, 0, (size_t)(end - text) - from)) return 0;
        *end = 0;
        lines[each] = text + from;
        if (each && (lines[each][0] != '/' || strlen(lines[each]) >= PATH_BYTES)) return 0;
        from = (size_t)(end - text) + 1;
    }
    if (from != length || strcmp(lines[0], CONF_HEAD)) return 0;
    found->interpreter = lines[1], found->entry = lines[2], found->refuse = lines[3];
    return 1;
}

/* Read the run.conf at `path`. Return whether it is there and whole. */
static int read_conf(const char *path, struct conf *found) {
    static char text[CONF_BYTES + 1];
    size_t length = 0;
    ssize_t got = 1;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) return 0;
    while (got > 0 && length < CONF_BYTES) {
        got = read(file, text + length, CONF_BYTES - length);
        if (got > 0) length += (size_t)got;
    }
    close(file);
    if (got != 0) return 0; /* an error, or too long */
    text[length] = 0;
    return parse_conf(text, length, found);
}

/* Write the path of a file beside the program into `path`. Return whether it fits. */
static int beside(char *path, size_t room, const char *program, const char *name) {
    const char *slash = strrchr(program, '/');
    if (!slash) return 0;
    int length = snprintf(path, room, "%.*s/%s", (int)(slash - program), program, name);
    return slash - program < PATH_BYTES && length > 0 && (size_t)length < room;
}

/* --- the server's address: `protocol.address` ------------------------------------------------------------------------- */

/* Add a text and its final zero to a hash (FNV-1a). */
static uint64_t hashed(uint64_t key, const char *text) {
    do key = (key ^ (unsigned char)*text) * 1099511628211u;
    while (*text++);
    return key;
}

static uint64_t hashed_number(uint64_t key, unsigned long long value) {
    char digits[24];
    snprintf(digits, sizeof digits, "%llu", value);
    return hashed(key, digits);
}

/* Write the socket's path into `path`. Return whether there is one. */
static int address(char *path, size_t room, const struct conf *conf) {
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME"), *below = "";
    if (!state || !*state) {
        state = home ? home : "";
#ifdef __APPLE__
        below = "/Library/Application Support";
#else
        below = "/.local/state";
#endif
    }
    uint64_t key = hashed_number(14695981039346656037u, getuid());
    key = hashed(key, conf->entry);
    key = hashed(key, conf->interpreter);
    key = hashed(key, "utf-8");
    const char *folders[] = {"HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"};
    for (int each = 0; each < 5; each++) {
        const char *value = getenv(folders[each]);
        key = hashed(key, value ? "set" : "unset");
        if (value) key = hashed(key, value);
    }
    const char *seen[] = {"/proc/self/ns/mnt", "/proc/self/ns/net", "/proc/self/ns/user", "/proc/self/ns/pid", "/"};
    uint64_t before = key;
    for (int each = 0; each < 5; each++) {
        struct stat found;
        if (stat(seen[each], &found)) { /* no Linux */
            key = before;
            break;
        }
        key = hashed_number(key, found.st_ino);
    }
    int length = snprintf(path, room, "%s%s/holdfast/server/%d-%016llx", state, below, PROTOCOL, (unsigned long long)key);
    return *state == '/' && length > 0 && length < 100; /* as in protocol.py */
}

/* Return whether a file's folder belongs to this user alone. */
static int private_folder(const char *path) {
    char folder[PATH_BYTES];
    struct stat found;
    return beside(folder, sizeof folder, path, "") && !stat(folder, &found) && found.st_uid == getuid() &&
           !(found.st_mode & 077);
}

/* Return whether the process at the other end is this user's. */
static int ours(int server) {
#ifdef SO_PEERCRED
    struct ucred peer;
    socklen_t size = sizeof peer;
    return !getsockopt(server, SOL_SOCKET, SO_PEERCRED, &peer, &size) && peer.uid == getuid();
#else
    uid_t user;
    gid_t group;
    return !getpeereid(server, &user, &group) && user == getuid();
#endif
}

/* --- waiting ------------------------------------------------------------------------------------------------------- */

static void on_sigterm(int number) {
    (void)number;
    terminated = 1;
}

static long long now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Wait until the socket is readable or, if `writing`, writable. SIGTERM gets through only here, so the time until which
   nothing may end the refusal that follows begins here too. */
static enum heard wait_for(int server, int writing, long long until) {
    for (;;) {
        long long left = until - now_ms();
        if (left < 0) left = 0;
        struct timespec patience = {(time_t)(left / 1000), (long)(left % 1000) * 1000000};
        fd_set set;
        FD_ZERO(&set);
        FD_SET(server, &set);
        int ready = pselect(server + 1, writing ? NULL : &set, writing ? &set : NULL, NULL, &patience,
                            &process.waiting);
        if (terminated) return TERMINATED;
        if (ready > 0) return DATA;
        if (ready == 0 && !left) return TIMED_OUT;
        if (ready < 0 && errno != EINTR) return ENDED;
    }
}

/* Read so many bytes. */
static enum heard read_all(int server, void *into, size_t size, long long until) {
    for (size_t got = 0; got < size;) {
        enum heard heard = wait_for(server, 0, until);
        if (heard != DATA) return heard;
        ssize_t part = recv(server, (char *)into + got, size - got, 0);
        if (part == 0 || (part < 0 && errno != EAGAIN && errno != EINTR)) return ENDED;
        if (part > 0) got += (size_t)part;
    }
    return DATA;
}

static uint32_t number_in(const unsigned char *bytes) {
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static enum heard next_frame(int server, struct frame *found, long long until) {
    unsigned char bytes[FRAME_BYTES];
    enum heard heard = read_all(server, bytes, sizeof bytes, until);
    if (heard != DATA) return heard;
    found->kind = bytes[0], found->code = bytes[1];
    found->first = number_in(bytes + 2), found->second = number_in(bytes + 6);
    return DATA;
}

/* --- asking -------------------------------------------------------------------------------------------------------- */

static size_t add(size_t used, const char *text) {
    size_t length = strlen(text);
    if (used > REQUEST_BYTES || length + 1 > REQUEST_BYTES - used) return REQUEST_BYTES + 1;
    if (used > HEAD) request[used++] = 0;
    memcpy(request + used, text, length);
    return used + length;
}

/* Write the request. Return its length, 0 if it must be left to the entrypoint. */
static size_t ask_for(const char *event) {
    char folder[PATH_BYTES], mask[16], head[24];
    if (!getcwd(folder, sizeof folder) || folder[0] != '/') return 0;
    mode_t umasked = umask(077);
    umask(umasked);
    snprintf(mask, sizeof mask, "%u", (unsigned)umasked);
    size_t used = add(add(add(add(HEAD, "event"), event), folder), mask);
    for (int each = 0; environ[each]; each++) {
        if (strchr(environ[each], '=')) used = add(used, environ[each]);
    }
    if (used > REQUEST_BYTES) return 0;
    snprintf(head, sizeof head, "%*zu", HEAD, used - HEAD);
    memcpy(request, head, HEAD);
    return used;
}

/* Send the request. Returns DATA if a child waits for GO, with its time limit in *found. */
static enum heard ready(int server, size_t length, struct frame *found) {
    long long until = now_ms() + READY_TIMEOUT_MS;
    enum heard heard;
    for (size_t sent = 0; sent < length;) {
        if ((heard = wait_for(server, 1, until)) != DATA) return heard;
        ssize_t part = send(server, request + sent, length - sent, 0);
        if (part < 0 && errno != EAGAIN && errno != EINTR) return ENDED;
        if (part > 0) sent += (size_t)part;
    }
    heard = next_frame(server, found, until);
    return heard == DATA && found->kind != READY ? ENDED : heard;
}

/* Hand the event over, with stdin. Return whether it was: if not, the child never reads stdin. */
static int go(int server) {
    static const int input = 0;
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof input)];
    } control;
    char said = GO;
    struct iovec part = {&said, 1};
    struct msghdr message;
    memset(&control, 0, sizeof control);
    memset(&message, 0, sizeof message);
    message.msg_iov = &part, message.msg_iovlen = 1;
    message.msg_control = &control, message.msg_controllen = sizeof control.room;
    struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET, rights->cmsg_type = SCM_RIGHTS, rights->cmsg_len = CMSG_LEN(sizeof input);
    memcpy(CMSG_DATA(rights), &input, sizeof input);
    return sendmsg(server, &message, 0) == 1;
}

/* Wait for the child's REPLY or REFUSE, with its two texts in *texts, each with a final zero. */
static enum heard answer(int server, struct frame *found, char **texts) {
    for (;;) {
        long long until = now_ms() + (long long)found->first * 1000; /* of the last READY */
        enum heard heard = next_frame(server, found, until);
        if (heard != DATA) return heard;
        if (found->kind == READY) continue;
        if (found->first > REPLY_BYTES || found->second > REPLY_BYTES) return ENDED;
        char *text = malloc((size_t)found->first + found->second + 2);
        if (!text) return ENDED;
        texts[0] = text, texts[1] = text + found->first + 1;
        texts[0][found->first] = texts[1][found->second] = 0;
        heard = read_all(server, texts[0], found->first, until);
        return heard == DATA ? read_all(server, texts[1], found->second, until) : heard;
    }
}

static void print(int stream, const char *text, size_t length) {
    while (length > 0) {
        ssize_t part = write(stream, text, length);
        if (part < 0 && errno == EAGAIN) { /* the client made the pipe non-blocking */
            struct pollfd room = {stream, POLLOUT, 0};
            poll(&room, 1, -1);
        } else if (part < 0 && errno != EINTR) {
            return; /* the client is gone */
        }
        if (part > 0) text += part, length -= (size_t)part;
    }
}

/* Print a reply, tell the child, and wait until it hangs up. A signal that ended this process from here on would have
   the registered command print a refusal behind the reply; SIGTERM only ends the wait. */
static void finish(int server, const struct frame *reply, char **texts) {
    char said = WRITTEN;
    sigfillset(&process.waiting);
    sigprocmask(SIG_SETMASK, &process.waiting, NULL);
    sigdelset(&process.waiting, SIGTERM);
    print(1, texts[0], reply->first);
    print(2, texts[1], reply->second);
    if (send(server, &said, 1, 0) == 1) read_all(server, &said, 1, now_ms() + FINISH_TIMEOUT_MS);
}

/* --- going on as another program ----------------------------------------------------------------------------------- */

/* Go on as another program, with the signals as they were; returns if that fails. */
static void become(const char *program, char *const *arguments) {
    signal(SIGPIPE, process.pipe);
    sigprocmask(SIG_SETMASK, &process.before, NULL);
    execv(program, arguments);
}

/* Tell whether the client has ended this process since it was last asked, and let it do so from now on. */
static int ended_by_client(void) {
    sigset_t pending;
    if (terminated || (!sigpending(&pending) && sigismember(&pending, SIGTERM))) return 1;
    signal(SIGTERM, SIG_DFL);
    return 0;
}

/* Have refuse.sh refuse the event if a strict handler is known for it, log `failure` if there is one, and tell the user
   at a session's start if Holdfast is gone. `guard` names the strict handlers, if they are known. */
static int refuse(const char *script, const char *event, const char *why, const char *failure, const char *guard) {
    if (*event == '-') return 0;
    const char *arguments[] = {"sh", script, event, why, "", "", failure, "", guard, NULL};
    signal(SIGTERM, SIG_IGN); /* the client is not to end the refusal */
    if (!access(script, R_OK)) become("/bin/sh", (char *const *)(uintptr_t)arguments);
    return 1; /* the registered command runs refuse.sh then */
}

/* Start the entrypoint with these arguments; after an event that no server answered, have it start one. */
static int start(const struct conf *conf, int count, char **given, int unanswered) {
    enum { MOST = 8 };
    const char *event = count > 1 ? given[1] : "";
    char *arguments[MOST + 5];
    int used = 0;
    arguments[used++] = (char *)(uintptr_t)conf->interpreter;
    arguments[used++] = "-ISXutf8"; /* like the client, whatever the locale */
    arguments[used++] = (char *)(uintptr_t)conf->entry;
    for (int each = 1; each < count && each < MOST; each++) arguments[used++] = given[each];
    if (unanswered) arguments[used++] = "--start-server";
    arguments[used] = NULL;
    if (ended_by_client()) return refuse(conf->refuse, event, "the client ended it", "", "");
    if (!access(conf->entry, R_OK)) become(conf->interpreter, arguments); /* without the file it would end with 2 */
    return refuse(conf->refuse, event, "Holdfast did not answer", "", "");
}

static int connected(const char *path) {
    struct sockaddr_un name;
    memset(&name, 0, sizeof name);
    name.sun_family = AF_UNIX;
    memcpy(name.sun_path, path, strlen(path) + 1); /* `address` makes it short enough */
    int server = socket(AF_UNIX, SOCK_STREAM, 0);
    if (server >= 0) fcntl(server, F_SETFD, FD_CLOEXEC), fcntl(server, F_SETFL, O_NONBLOCK);
    /* Below 3 it has the number of a standard stream that was closed. */
    if (server >= 3 && server < FD_SETSIZE && !connect(server, (struct sockaddr *)&name, sizeof name) && ours(server))
        return server;
    if (server >= 0) close(server);
    return -1;
}

static int switched_off(void) {
    static const char *const words[] = {"off", "0", "no", "false"};
    const char *value = getenv("HOLDFAST_SERVER");
    for (int each = 0; value && each < 4; each++)
        if (!strcasecmp(value, words[each])) return 1;
    return 0;
}

/* Have an event answered, whose name is the only argument. */
static int relay(const struct conf *conf, int count, char **given) {
    static const char *const ends[] = {"", "its process ended", "its time was up", "the client ended it"};
    char path[sizeof ((struct sockaddr_un *)0)->sun_path], failure[128];
    char *texts[2];
    const char *event = given[1];
    struct frame found;
    size_t length;
    if (switched_off() || !address(path, sizeof path, conf) || !(length = ask_for(event)))
        return start(conf, count, given, 0);
    int server = private_folder(path) ? connected(path) : -1;
    if (server < 0) return start(conf, count, given, 1);
    enum heard heard = ready(server, length, &found);
    if (heard == TERMINATED) return refuse(conf->refuse, event, ends[heard], "", "");
    if (heard != DATA || !go(server)) {
        close(server);
        return start(conf, count, given, 1);
    }
    heard = answer(server, &found, texts);
    if (heard == DATA && found.kind == REFUSE) return refuse(conf->refuse, event, texts[0], "", texts[1]);
    if (heard == DATA && found.kind == REPLY) {
        finish(server, &found, texts);
        return found.code;
    }
    *failure = 0; /* the child logs that the client ended it */
    if (heard != TERMINATED)
        snprintf(failure, sizeof failure, "is lost: the warm server did not answer it: %s", ends[heard ? heard : ENDED]);
    return refuse(conf->refuse, event, ends[heard ? heard : ENDED], failure, "");
}

/* --- the program -------------------------------------------------------------------------------------------------- */

static void prepare(void) {
    process.pipe = signal(SIGPIPE, SIG_IGN);
    if (process.pipe == SIG_ERR) process.pipe = SIG_DFL;
    sigprocmask(SIG_SETMASK, NULL, &process.before);
    process.waiting = process.before;
    struct sigaction action;
    sigset_t blocked = process.before;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_sigterm;
    sigaction(SIGTERM, &action, NULL);
    sigaddset(&blocked, SIGTERM);
    sigprocmask(SIG_SETMASK, &blocked, NULL);
    sigdelset(&process.waiting, SIGTERM);
}

int main(int count, char **given) {
    char path[PATH_BYTES];
    struct conf conf;
    const char *event = count > 1 ? given[1] : "";
    if (!strcmp(event, "--version")) return puts("holdfast relay " SOURCE) < 0 || fflush(stdout) ? 1 : 0;
    prepare();
    if (!count || !beside(path, sizeof path, given[0], "run.conf") || !read_conf(path, &conf)) {
        if (!count || !beside(path, sizeof path, given[0], "refuse.sh")) return 1;
        return refuse(path, event, "Holdfast is not installed whole", "could not be dispatched: run.conf is missing or damaged beside the relay", "");
    }
    if (count != 2 || !*event || (*event == '-' && strcmp(event, "--status"))) return start(&conf, count, given, 0);
    return relay(&conf, count, given);
}
