/* The relay in C: has an event answered by the warm server or, failing that, starts the Python entrypoint.

   `holdfast install` puts it in the launcher's place (`run`), with a file `run.conf` beside it that names what it may
   start. It does what `ask` and `_code` in holdfast/relay.py do, with the same protocol, and nothing else: no event is
   read, judged or answered here. docs/security.md says how to audit and rebuild it.

   - Before GO any doubt starts the interpreter with the entrypoint, which reads the event itself (`start`).
   - After GO the event is answered once, by the server's child, or not at all. Then `refuse.sh` decides whether it is
     refused (`refuse`): it knows the strict handlers, and prints the refusal.
   - The environment chooses where the server's socket is, as it chooses the home. What is started, only run.conf does.
   - Memory is static; what doesn't fit goes the other way. Every descriptor is closed on exec.
   - The exit code is the child's, or 1 if not even the shell can be started: the registered command then tries.

   With `--status` it prints the client's status line, from a small file that events and commands keep (`status`). */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
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
/* The limits of relay.py, in milliseconds; tests set others. */
#ifndef LIFE_TIMEOUT_MS
#define LIFE_TIMEOUT_MS 50
#endif
#ifndef READY_TIMEOUT_MS
#define READY_TIMEOUT_MS 1000
#endif
#ifndef ANSWER_TIMEOUT_MS
#define ANSWER_TIMEOUT_MS 21000
#endif
#ifndef LAST_WORD_MS
#define LAST_WORD_MS 2000
#endif

enum {
    TURNS = 16,                 /* how often the server may say WAIT */
    HEAD = 8,                   /* digits of a request's length */
    REQUEST_BYTES = 1 << 20,    /* the longest request; a longer one is left to the entrypoint */
    VARIABLES = 1024,           /* the most variables, since looking for doubles takes their square */
    PATH_BYTES = 4096,          /* the longest path, with its final zero */
    CONF_BYTES = 4 * PATH_BYTES, /* the longest run.conf */
    STATUS_BYTES = 512,         /* the longest file for the status line; files/status_file.py writes it */
    SESSION_BYTES = 64          /* the longest session id */
};
enum { ALIVE = '!', WAIT = '.', READY = 'r', GO = 'g', LONGER = 0xfe, WRITTEN = 0xff }; /* the messages; see relay.py */
enum heard { DATA, TIMED_OUT, TERMINATED, FAILED };

#define CONF_HEAD "holdfast relay 1"
#define STATUS_HEAD "holdfast status 1"

struct conf { /* run.conf: CONF_HEAD, then one absolute path a line */
    const char *interpreter, *entry, *refuse;
};

static struct {
    int strict;                 /* whether a strict handler may be known for the event */
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

/* --- the server's address: `relay.address` ------------------------------------------------------------------------- */

/* Add one byte to the remainder of a number modulo 2^64 - 59. */
static uint64_t folded(uint64_t rest, unsigned char byte) {
    const uint64_t prime = UINT64_MAX - 58;
    uint64_t over = rest >> 56, sum = (rest << 8 | byte) + over * 59; /* 2^64 leaves 59 */
    if (sum < over * 59) sum += 59;
    return sum >= prime ? sum - prime : sum;
}

static uint64_t word(uint64_t rest, const char *text) {
    while (*text) rest = folded(rest, (unsigned char)*text++);
    return folded(rest, 0);
}

static uint64_t number(uint64_t rest, unsigned long long value) {
    char digits[24];
    snprintf(digits, sizeof digits, "%llu", value);
    return word(rest, digits);
}

/* Return whether Python's encoding for file names is certainly UTF-8: the server is one of that encoding. */
static int utf8(void) {
#ifdef __APPLE__
    return 1;
#else
    const char *names[] = {"LC_ALL", "LC_CTYPE", "LANG"}, *value = NULL;
    for (int each = 0; each < 3 && (!value || !*value); each++) value = getenv(names[each]);
    if (!value || !*value || !strcmp(value, "C") || !strcmp(value, "POSIX")) return 1;
    const char *dot = strchr(value, '.');
    return dot && (!strncasecmp(dot, ".utf-8", 6) || !strncasecmp(dot, ".utf8", 5));
#endif
}

/* Write the path of a file below Holdfast's state folder into `path`. Return whether there is one that fits. */
static int below_state(char *path, size_t room, const char *name) {
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME"), *below = "";
    if (!state || !*state) {
        state = home ? home : "";
#ifdef __APPLE__
        below = "/Library/Application Support";
#else
        below = "/.local/state";
#endif
    }
    int length = snprintf(path, room, "%s%s/holdfast/%s", state, below, name);
    return *state == '/' && length > 0 && (size_t)length < room;
}

/* Write the socket's path into `path`. Return whether there is one. */
static int address(char *path, size_t room, const struct conf *conf) {
    char name[32];
    uint64_t key = number(0, getuid());
    key = word(key, conf->entry);
    key = word(key, conf->interpreter);
    key = word(key, "utf-8");
    const char *folders[] = {"HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"};
    for (int each = 0; each < 5; each++) {
        const char *value = getenv(folders[each]);
        key = value ? word(folded(key, '='), value) : word(key, "-");
    }
    const char *seen[] = {"/proc/self/ns/mnt", "/proc/self/ns/net", "/proc/self/ns/user", "/proc/self/ns/pid", "/"};
    unsigned long long inodes[5];
    int known = 1;
    for (int each = 0; each < 5 && known; each++) {
        struct stat found;
        known = !stat(seen[each], &found);
        if (known) inodes[each] = found.st_ino;
    }
    for (int each = 0; each < 5 && known; each++) key = number(key, inodes[each]);
    snprintf(name, sizeof name, "server/%016llx", (unsigned long long)key);
    return below_state(path, room, name) && strlen(path) < 100; /* as in relay.py */
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

/* Wait until the socket is readable or, if `writing`, writable. SIGTERM gets through only here, so it interrupts no
   message: each says TERMINATED once, and `terminated` is 0 again. */
static enum heard wait_for(int server, int writing, int limit_ms) {
    long long until = now_ms() + limit_ms;
    for (;;) {
        long long left = until - now_ms();
        if (left < 0) left = 0;
        struct timespec patience = {(time_t)(left / 1000), (long)(left % 1000) * 1000000};
        fd_set set;
        FD_ZERO(&set);
        FD_SET(server, &set);
        int ready = pselect(server + 1, writing ? NULL : &set, writing ? &set : NULL, NULL, &patience,
                            &process.waiting);
        if (terminated) {
            terminated = 0;
            sigaddset(&process.waiting, SIGTERM); /* a second one doesn't interrupt the refusal that follows */
            return TERMINATED;
        }
        if (ready > 0) return DATA;
        if (ready == 0 && !left) return TIMED_OUT;
        if (ready < 0 && errno != EINTR) return FAILED;
    }
}

/* Read the next byte. Returns DATA with *byte, or -1 in it at the end. */
static enum heard next_byte(int server, int limit_ms, int *byte) {
    for (;;) {
        unsigned char said;
        enum heard heard = wait_for(server, 0, limit_ms);
        if (heard != DATA) return heard;
        ssize_t got = recv(server, &said, 1, 0);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
        if (got < 0) return FAILED;
        *byte = got ? said : -1;
        return DATA;
    }
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
        const char *equals = strchr(environ[each], '=');
        if (each == VARIABLES) return 0;
        if (!equals) continue;
        size_t name = (size_t)(equals - environ[each]) + 1;
        int before = 0; /* of two values the first one counts, for Python too */
        while (before < each && strncmp(environ[before], environ[each], name)) before++;
        if (before == each) used = add(used, environ[each]);
    }
    if (used > REQUEST_BYTES) return 0;
    snprintf(head, sizeof head, "%*zu", HEAD, used - HEAD);
    memcpy(request, head, HEAD);
    return used;
}

/* Have a child of the server made ready. Returns DATA if one waits for GO. */
static enum heard ready(int server, size_t length) {
    enum heard heard;
    int said = 0;
    for (size_t sent = 0; sent < length;) {
        if ((heard = wait_for(server, 1, LIFE_TIMEOUT_MS)) != DATA) return heard;
        ssize_t part = send(server, request + sent, length - sent, 0);
        if (part < 0 && errno != EAGAIN && errno != EINTR) return FAILED;
        if (part > 0) sent += (size_t)part;
    }
    if ((heard = next_byte(server, LIFE_TIMEOUT_MS, &said)) != DATA) return heard;
    if (said != ALIVE) return FAILED;
    for (int turn = 0; turn < TURNS; turn++) {
        if ((heard = next_byte(server, READY_TIMEOUT_MS, &said)) != DATA) return heard;
        if (said != WAIT) break;
    }
    return said == READY ? DATA : FAILED;
}

/* Hand the event over, with the standard streams. Return whether it was: if not, the child never reads stdin. */
static int go(int server) {
    static const int streams[3] = {0, 1, 2};
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof streams)];
    } control;
    char said = GO;
    struct iovec part = {&said, 1};
    struct msghdr message;
    memset(&control, 0, sizeof control);
    memset(&message, 0, sizeof message);
    message.msg_iov = &part, message.msg_iovlen = 1;
    message.msg_control = &control, message.msg_controllen = sizeof control.room;
    struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET, rights->cmsg_type = SCM_RIGHTS, rights->cmsg_len = CMSG_LEN(sizeof streams);
    memcpy(CMSG_DATA(rights), streams, sizeof streams);
    return sendmsg(server, &message, 0) == 1;
}

/* Wait until the event is answered. Return the exit code, or -1 with *why if nobody answered it. */
static int answered(int server, const char **why) {
    int limit_ms = ANSWER_TIMEOUT_MS, written = 0, digits = 0, seconds = 0, said = -1;
    *why = NULL;
    for (;;) {
        enum heard heard = next_byte(server, *why ? LAST_WORD_MS : limit_ms, &said);
        if (heard == TIMED_OUT || heard == TERMINATED) {
            said = -1;
            if (*why) break;
            *why = heard == TIMED_OUT ? "its time was up" : "the client ended it";
            shutdown(server, SHUT_WR); /* the server ends the child, which holds the client's stdout and may refuse */
        } else if (heard == FAILED) {
            said = -1;
            break;
        } else if (digits && said >= 0) {
            seconds = seconds << 8 | said;
            if (--digits == 0) limit_ms = seconds * 1000;
        } else if (said == LONGER) {
            digits = 2, seconds = 0;
        } else if (said == WRITTEN) {
            written = 1;
        } else {
            break; /* the exit code, or the end */
        }
    }
    if (said >= 0) return said;
    if (written) return 0;
    if (!*why) *why = "its process ended";
    return -1;
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
    if (!process.strict) return 0;
    if (terminated || (!sigpending(&pending) && sigismember(&pending, SIGTERM))) return 1;
    signal(SIGTERM, SIG_DFL);
    return 0;
}

/* Have refuse.sh refuse the event if a strict handler is known for it, log `failure` if there is one, and tell the user
   at a session's start if Holdfast is gone. */
static int refuse(const char *script, const char *event, const char *why, const char *failure) {
    if (!*failure && !process.strict && strcmp(event, "SessionStart")) return 0;
    char *const arguments[] = {"sh", (char *)(uintptr_t)script, (char *)(uintptr_t)event, (char *)(uintptr_t)why, "",
                               "",   (char *)(uintptr_t)failure, NULL};
    signal(SIGTERM, SIG_IGN); /* the client is not to end the refusal */
    if (!access(script, R_OK)) become("/bin/sh", arguments);
    return 1; /* the registered command runs refuse.sh then */
}

/* Start the entrypoint with these arguments. */
static int start(const struct conf *conf, int count, char **given, int cold) {
    enum { MOST = 8 };
    char *arguments[MOST + 5];
    int used = 0;
    arguments[used++] = (char *)(uintptr_t)conf->interpreter;
    arguments[used++] = "-IS";
    arguments[used++] = (char *)(uintptr_t)conf->entry;
    for (int each = 1; each < count && each < MOST; each++) arguments[used++] = given[each];
    if (cold) arguments[used++] = "--cold"; /* the server was asked, so the entrypoint need not */
    arguments[used] = NULL;
    if (ended_by_client()) return refuse(conf->refuse, given[1], "the client ended it", "");
    if (!access(conf->entry, R_OK)) become(conf->interpreter, arguments); /* without the file it would end with 2 */
    return refuse(conf->refuse, count > 1 ? given[1] : "", "Holdfast did not answer", "");
}

static int connected(const char *path) {
    struct sockaddr_un name;
    memset(&name, 0, sizeof name);
    name.sun_family = AF_UNIX;
    memcpy(name.sun_path, path, strlen(path) + 1); /* `address` makes it short enough */
#ifdef SOCK_CLOEXEC
    int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
#else
    int server = socket(AF_UNIX, SOCK_STREAM, 0);
    if (server >= 0) fcntl(server, F_SETFD, FD_CLOEXEC), fcntl(server, F_SETFL, O_NONBLOCK);
#endif
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

/* Answer an event, whose name is the only argument. */
static int relay(const struct conf *conf, int count, char **given) {
    char path[sizeof ((struct sockaddr_un *)0)->sun_path];
    const char *event = given[1], *why = NULL;
    size_t length;
    if (switched_off() || !utf8() || !address(path, sizeof path, conf) || !(length = ask_for(event)))
        return start(conf, count, given, 0);
    int server = private_folder(path) ? connected(path) : -1;
    if (server < 0) return start(conf, count, given, 1);
    enum heard heard = ready(server, length);
    if (heard == TERMINATED) return refuse(conf->refuse, event, "the client ended it", "");
    if (heard != DATA || !go(server)) return start(conf, count, given, 1);
    int code = answered(server, &why);
    if (code >= 0) return code;
    char failure[128];
    snprintf(failure, sizeof failure, "is lost: the warm server did not answer it: %s", why);
    return refuse(conf->refuse, event, why, failure);
}

/* --- the status line: files/status_file.py ------------------------------------------------------------------------ */

static int isalnum_ascii(char each) {
    return (each >= '0' && each <= '9') || (each >= 'A' && each <= 'Z') || (each >= 'a' && each <= 'z');
}

/* Copy the session's id out of what the client sends, a JSON object of which only this key is read, not one of an object
   inside it. Return whether there is one that names a file. */
static int session_in(const char *text, size_t length, char *session) {
    static const char key[] = "\"session_id\"";
    const char *end = text + length;
    int depth = 0;
    for (const char *at = text; at < end; at++) {
        depth += (*at == '{' || *at == '[') - (*at == '}' || *at == ']');
        if (*at != '"') continue;
        const char *from = at++; /* go on behind the string that begins here */
        while (at < end && *at != '"') at += *at == '\\' && at + 1 < end ? 2 : 1;
        if (depth != 1 || at == end || (size_t)(at - from) != sizeof key - 2 || memcmp(from, key, sizeof key - 1)) continue;
        from = at + 1;
        while (from < end && memchr(" \t\r\n", *from, 4)) from++;
        if (from == end || *from++ != ':') continue; /* a value of that text */
        while (from < end && memchr(" \t\r\n", *from, 4)) from++;
        if (from == end || *from++ != '"') return 0;
        size_t used = 0;
        for (; from < end && used < SESSION_BYTES && (*from == '-' || *from == '_' || isalnum_ascii(*from)); from++)
            session[used++] = *from;
        session[used] = 0;
        return used && from < end && *from == '"';
    }
    return 0;
}

/* Split a status file, with a final zero at text[length], into its line and the time of the last save in seconds, 0 for
   none. Return whether it is one, and the line nothing that a terminal would act on. */
static int parse_status(char *text, size_t length, const char **line, long long *saved) {
    const size_t head = sizeof STATUS_HEAD - 1;
    if (length < head + 4 || memcmp(text, STATUS_HEAD "\n", head + 1)) return 0;
    char *at = text + head + 1, *most = at + 12;
    for (*saved = 0; at < most && *at >= '0' && *at <= '9'; at++) *saved = *saved * 10 + (*at - '0');
    if (at == text + head + 1 || *at++ != '\n' || text[length - 1] != '\n') return 0;
    text[--length] = 0;
    *line = at;
    for (const char *each = at; each < text + length; each++) {
        unsigned char byte = (unsigned char)*each;
        /* C0 and DEL; in UTF-8, C2 begins C1, which ends before A0 */
        if (byte < 0x20 || byte == 0x7f || (byte == 0xc2 && (unsigned char)each[1] < 0xa0)) return 0;
    }
    return *at != 0;
}

/* Write how long ago something was into `words`. */
static void age(char *words, size_t room, long long seconds) {
    if (seconds < 60) snprintf(words, room, "just now");
    else if (seconds < 3600) snprintf(words, room, "%lld min ago", seconds / 60);
    else if (seconds < 86400) snprintf(words, room, "%lld h ago", seconds / 3600);
    else snprintf(words, room, "%lld d ago", seconds / 86400);
}

/* Print the status line of the session that the client names on stdin, or nothing. */
static int status(void) {
    static char text[STATUS_BYTES + 2];
    char path[PATH_BYTES], name[SESSION_BYTES + 16], session[SESSION_BYTES + 1], words[40];
    const char *line;
    struct stat found;
    long long saved;
    size_t length = 0;
    ssize_t got = 1;
    if (isatty(0)) return 0; /* nobody sends anything there */
    while (got > 0 && length < sizeof request) {
        got = read(0, request + length, sizeof request - length);
        if (got > 0) length += (size_t)got;
        if (got < 0 && errno == EINTR) got = 1;
    }
    if (!session_in(request, length, session)) return 0;
    snprintf(name, sizeof name, "status/%s", session);
    if (!below_state(path, sizeof path, name) || !private_folder(path)) return 0;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0) return 0;
    got = -1;
    if (!fstat(file, &found) && S_ISREG(found.st_mode) && found.st_uid == getuid())
        got = read(file, text, STATUS_BYTES + 1);
    close(file);
    if (got <= 0 || got > STATUS_BYTES) return 0;
    text[got] = 0;
    if (!parse_status(text, (size_t)got, &line, &saved)) return 0;
    age(words, sizeof words, (long long)time(NULL) - saved);
    if (saved) printf("%s \xc2\xb7 saved %s\n", line, words);
    else puts(line);
    fflush(stdout);
    return 0;
}

/* --- the program -------------------------------------------------------------------------------------------------- */

static int is_strict(const char *event) {
    static const char *const events[] = {
        "PreToolUse", "PreSkillShellCommand", "PermissionRequest", "UserPromptSubmit", "UserPromptExpansion", NULL,
    };
    for (const char *const *each = events; *each; each++)
        if (!strcmp(event, *each)) return 1;
    return 0;
}

static void prepare(const char *event) {
    process.strict = is_strict(event);
    process.pipe = signal(SIGPIPE, SIG_IGN);
    if (process.pipe == SIG_ERR) process.pipe = SIG_DFL;
    sigprocmask(SIG_SETMASK, NULL, &process.before);
    process.waiting = process.before;
    if (!process.strict) return;
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
    if (!strcmp(event, "--status")) return status();
    prepare(event);
    if (!count || !beside(path, sizeof path, given[0], "run.conf") || !read_conf(path, &conf)) {
        if (!count || !beside(path, sizeof path, given[0], "refuse.sh")) return 1;
        return refuse(path, event, "Holdfast is not installed whole", "could not be dispatched: run.conf is missing or damaged beside the relay");
    }
    if (count != 2 || *event == '-' || !*event) return start(&conf, count, given, 0);
    return relay(&conf, count, given);
}
