/* A fuzz target for what the native relay reads: run.conf, the server's messages before GO and after it, and what the
   status line comes from.

   LLVMFuzzerTestOneInput is libFuzzer's interface; without libFuzzer, `main` changes good inputs at random:
   relay_fuzz ROUNDS SEED. Every read goes through the relay's own functions, on a real socket. */
#define main relay_main
#include "relay.c"
#undef main

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int true_, const char *what) {
    if (true_) return;
    fprintf(stderr, "broken: %s\n", what);
    abort();
}

static void conf(const uint8_t *data, size_t size) {
    static char text[CONF_BYTES + 1];
    struct conf found;
    if (size > CONF_BYTES) size = CONF_BYTES;
    memcpy(text, data, size);
    text[size] = 0;
    if (!parse_conf(text, size, &found)) return;
    const char *paths[] = {found.interpreter, found.entry, found.refuse};
    for (int each = 0; each < 3; each++) {
        check(paths[each][0] == '/', "a relative path was taken");
        check(strlen(paths[each]) < PATH_BYTES, "a path too long was taken");
        check(paths[each] > text && paths[each] + strlen(paths[each]) < text + size, "a path outside of the file");
    }
    check(!strcmp(text, CONF_HEAD), "another version was taken");
}

/* What the messages after GO mean, read the plain way: the exit code, or -1. */
static int meant(const uint8_t *data, size_t size) {
    int written = 0;
    for (size_t at = 0; at < size; at++) {
        if (data[at] == LONGER) {
            at += 2;
        } else if (data[at] == WRITTEN) {
            written = 1;
        } else {
            return data[at];
        }
    }
    return written ? 0 : -1;
}

static int said(int ends[2], const uint8_t *data, size_t size) {
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) abort();
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    if (size && write(ends[1], data, size) != (ssize_t)size) abort();
    return shutdown(ends[1], SHUT_WR);
}

static void messages(const uint8_t *data, size_t size) {
    int ends[2];
    const char *why;
    /* A limit in a message is a real one, but the end of what was said comes first. */
    said(ends, data, size);
    int code = answered(ends[0], &why);
    check(code == meant(data, size), "the answer was misread");
    check(code >= 0 || !strcmp(why, "its process ended"), "another reason was given");
    close(ends[0]), close(ends[1]);

    said(ends, data, size);
    size_t waits = 0;
    while (waits < TURNS && waits + 1 < size && data[waits + 1] == WAIT) waits++;
    int good = size > waits + 1 && data[0] == ALIVE && waits < TURNS && data[waits + 1] == READY;
    check((ready(ends[0], 0) == DATA) == good, "a word before GO was misread");
    close(ends[0]), close(ends[1]);
}

/* Nothing that a terminal would act on is taken for a line, and nothing but a plain name for a session. */
static void status_line(const uint8_t *data, size_t size) {
    static char text[STATUS_BYTES + 1];
    char *given = malloc(size ? size : 1), session[SESSION_BYTES + 1]; /* exactly as long, so that no byte beyond it is read */
    const char *line;
    long long saved;
    if (!given) abort();
    memcpy(given, data, size);
    if (session_in(given, size, session)) {
        check(strlen(session) > 0 && strlen(session) <= SESSION_BYTES, "a session without a name was taken");
        for (const char *each = session; *each; each++)
            check(*each == '-' || *each == '_' || isalnum_ascii(*each), "a path was taken for a session");
    }
    free(given);
    if (size > STATUS_BYTES) size = STATUS_BYTES;
    memcpy(text, data, size);
    text[size] = 0;
    if (!parse_status(text, size, &line, &saved)) return;
    check(!strncmp(text, STATUS_HEAD "\n", sizeof STATUS_HEAD), "another version was taken");
    check(line > text && line + strlen(line) == text + size - 1, "a line outside of the file");
    check(saved >= 0, "a time before there were any was taken");
    for (const char *each = line; *each; each++)
        check((unsigned char)*each >= 0x20 && *each != 0x7f, "a control character was taken");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static int prepared;
    if (!prepared++) prepare("PreToolUse");
    conf(data, size);
    messages(data, size < 4096 ? size : 4096);
    status_line(data, size);
    return 0;
}

#ifndef LIBFUZZER
static uint64_t state;

static uint32_t chance(uint32_t below) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (uint32_t)(state >> 32) % below;
}

int main(int count, char **given) {
    static const char *const seeds[] = {
        "holdfast relay 1\n/usr/bin/python3\n/home/me/run.py\n/home/me/refuse.sh\n", "!...r", "!r", "!................r",
        "!...............r", "\xfe\x01\x01\xff\x02", "\xff\x02", "\x07", "\xfe\x01", "",
        "holdfast status 1\n1795667644\nUser auth \xc2\xb7 phase 1/2 Design\n", "{\"session_id\":\"0a1b-2c\",\"cwd\":\"/\"}",
        "{\"name\":\"\\\"session_id\\\":\",\"session_id\" : \"me\"}",
    };
    static const char special[] = "\n\0/!.r\xfe\xff g1\":\xc2\x9b\x1b";
    static uint8_t data[CONF_BYTES * 2];
    long rounds = count > 1 ? atol(given[1]) : 1000;
    state = (count > 2 ? (uint64_t)atoll(given[2]) : 1) * 2654435761u + 88172645463325252u;
    for (long round = 0; round < rounds; round++) {
        const char *seed = seeds[chance(sizeof seeds / sizeof *seeds)];
        size_t size = strlen(seed);
        memcpy(data, seed, size);
        for (uint32_t change = chance(6); change; change--) {
            uint32_t at = size ? chance((uint32_t)size) : 0, kind = chance(5);
            uint8_t byte = chance(2) ? (uint8_t)special[chance(sizeof special - 1)] : (uint8_t)chance(256);
            if (kind == 0 && size) data[at] = byte;
            if (kind == 1 && size < sizeof data) memmove(data + at + 1, data + at, size - at), data[at] = byte, size++;
            if (kind == 2 && size) memmove(data + at, data + at + 1, size - at - 1), size--;
            if (kind == 3 && size) size = at;
            if (kind == 4) { /* a long run of one byte */
                uint32_t more = chance(chance(8) ? 40 : 6000);
                if (size + more <= sizeof data) memmove(data + at + more, data + at, size - at), memset(data + at, byte, more), size += more;
            }
        }
        LLVMFuzzerTestOneInput(data, size);
    }
    printf("%ld rounds\n", rounds);
    return 0;
}
#endif
