/* A fuzz target for what the relay reads: run.conf, and the server's messages before GO and after it.

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

/* Where the frame that answers an event begins, read the plain way: after all READY. */
static size_t answered_at(const uint8_t *data, size_t size) {
    size_t at = 0;
    while (at + FRAME_BYTES <= size && data[at] == READY) at += FRAME_BYTES;
    return at;
}

static int said(int ends[2], const uint8_t *data, size_t size) {
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) abort();
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    if (size && write(ends[1], data, size) != (ssize_t)size) abort();
    return shutdown(ends[1], SHUT_WR);
}

static void messages(const uint8_t *data, size_t size) {
    int ends[2];
    char *texts[2] = {NULL, NULL};
    struct frame found = {READY, 0, 60, 0};
    size_t at = answered_at(data, size);
    /* The end of what was said comes before any limit, unless that is 0. */
    said(ends, data, size);
    enum heard heard = answer(ends[0], &found, texts);
    if (heard == DATA) {
        check(at + FRAME_BYTES <= size && found.kind == data[at] && found.code == data[at + 1], "a frame was misread");
        const uint8_t *text = data + at + FRAME_BYTES;
        check(at + FRAME_BYTES + found.first + found.second <= size, "more was read than was said");
        check(!memcmp(texts[0], text, found.first) && !texts[0][found.first], "the first text was misread");
        check(!memcmp(texts[1], text + found.first, found.second) && !texts[1][found.second], "the second text was misread");
    }
    free(texts[0]);
    close(ends[0]), close(ends[1]);

    said(ends, data, size);
    check((ready(ends[0], 0, &found) == DATA) == (size >= FRAME_BYTES && data[0] == READY), "a word before GO was misread");
    close(ends[0]), close(ends[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static int prepared;
    if (!prepared++) prepare();
    conf(data, size);
    messages(data, size < 4096 ? size : 4096);
    return 0;
}

#ifndef LIBFUZZER
static uint64_t state;

static uint32_t chance(uint32_t below) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (uint32_t)(state >> 32) % below;
}

int main(int count, char **given) {
    static const struct {
        const char *text;
        size_t size;
    } seeds[] = {
#define SEED(text) {text, sizeof text - 1}
        SEED("holdfast relay 1\n/usr/bin/python3\n/home/me/run.py\n/home/me/refuse.sh\n"),
        SEED("r\0\0\0\0\7\0\0\0\0"), SEED("r\0\0\0\0\7\0\0\0\0=\2\0\0\0\2\0\0\0\3{}why"),
        SEED("=\0\0\0\0\0\0\0\0\0"), SEED("!\0\0\0\0\3\0\0\0\1whyg"), SEED("=\0\1\0\0\0\0\0\0\0half"), SEED(""),
    };
    static const char special[] = "\n\0/!=r\1\xff g\2";
    static uint8_t data[CONF_BYTES * 2];
    long rounds = count > 1 ? atol(given[1]) : 1000;
    state = (count > 2 ? (uint64_t)atoll(given[2]) : 1) * 2654435761u + 88172645463325252u;
    for (long round = 0; round < rounds; round++) {
        uint32_t seed = chance(sizeof seeds / sizeof *seeds);
        size_t size = seeds[seed].size;
        memcpy(data, seeds[seed].text, size);
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
