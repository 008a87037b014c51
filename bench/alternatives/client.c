/* The entrypoint's warm way in C: asks the warm server and, if that doesn't answer, executes the entrypoint itself.

   cc -O2 -DPLACE='"…"' -DPYTHON='"…"' -DENTRY='"…"' client.c

   PLACE is the server's socket, ENTRY the installed entrypoint, PYTHON its interpreter: an install would fill them in.
   The protocol, all of it in `ask`, is that of src/holdfast/relay.py. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define HEAD 8 /* digits of a request's length */
#define ANSWER 21000 /* milliseconds until the child has chosen handlers, or answered */
#define LONGER 0xfe /* its message before the seconds it may take from then on */
#define WRITTEN 0xff /* its message once its reply is written */

extern char **environ;

static void wait_at_most(int server, int milliseconds) {
    struct timeval time = {milliseconds / 1000, milliseconds % 1000 * 1000};
    setsockopt(server, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
    setsockopt(server, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time);
}

/* Whether the socket lies where only we can have put it. */
static int private(void) {
    char folder[sizeof PLACE] = PLACE;
    struct stat found;
    *strrchr(folder, '/') = 0;
    return !stat(folder, &found) && found.st_uid == getuid() && !(found.st_mode & 077);
}

/* Whether who is at the other end is this user. */
static int ours(int server) {
#ifdef SO_PEERCRED
    struct ucred peer;
    socklen_t size = sizeof peer;
    return !getsockopt(server, SOL_SOCKET, SO_PEERCRED, &peer, &size) && peer.uid == getuid();
#else
    return server >= 0; /* nobody else can open what lies in a folder that is ours alone */
#endif
}

static size_t add(char *request, size_t used, size_t room, const char *word) {
    size_t length = strlen(word);
    if (used + length + 1 > room) return room + 1;
    if (used > HEAD) request[used++] = 0;
    memcpy(request + used, word, length);
    return used + length;
}

static int everything(int server, const char *data, size_t length) {
    while (length) {
        ssize_t sent = send(server, data, length, MSG_NOSIGNAL);
        if (sent <= 0) return 0;
        data += sent, length -= sent;
    }
    return 1;
}

/* Return the exit code of the child that has the event. It sends LONGER with its limit, then WRITTEN, then the code. */
static int answered(int server) {
    unsigned char said = 0, seconds[2];
    wait_at_most(server, ANSWER);
    while (recv(server, &said, 1, 0) == 1) {
        if (said == LONGER) {
            if (recv(server, seconds, 2, MSG_WAITALL) != 2) return 0;
            wait_at_most(server, (seconds[0] << 8 | seconds[1]) * 1000);
        } else if (said != WRITTEN) {
            return said;
        }
    }
    return 0;
}

/* Return the event's exit code, or -1 if it is certain that the server hasn't answered it and never will. */
static int ask(const char *event) {
    static char request[1 << 20];
    char said, folder[4096], mask[16], head[24];
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *off = getenv("HOLDFAST_SERVER");
    if (off && (!strcasecmp(off, "off") || !strcmp(off, "0") || !strcasecmp(off, "no") || !strcasecmp(off, "false"))) return -1;
    if (sizeof PLACE > sizeof address.sun_path || !getcwd(folder, sizeof folder)) return -1;
    strcpy(address.sun_path, PLACE);
    int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    wait_at_most(server, 50);
    if (!private() || connect(server, (struct sockaddr *)&address, sizeof address) || !ours(server)) goto cold;

    mode_t umasked = umask(077);
    umask(umasked);
    snprintf(mask, sizeof mask, "%d", (int)umasked);
    const char *words[] = {"event", event, folder, mask};
    size_t used = HEAD;
    for (int each = 0; each < 4; each++) used = add(request, used, sizeof request, words[each]);
    for (char **each = environ; *each && used <= sizeof request; each++) used = add(request, used, sizeof request, *each);
    if (used > sizeof request) goto cold;
    snprintf(head, sizeof head, "%*zu", HEAD, used - HEAD);
    memcpy(request, head, HEAD);
    if (!everything(server, request, used) || recv(server, &said, 1, 0) != 1 || said != '!') goto cold;

    wait_at_most(server, 1000);
    do
        if (recv(server, &said, 1, 0) != 1) goto cold;
    while (said == '.');
    if (said != 'r') goto cold;

    /* From here on the event is answered once or, if the child dies, not at all. */
    int descriptors[3] = {0, 1, 2};
    char control[CMSG_SPACE(sizeof descriptors)] = {0};
    struct iovec part = {"g", 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET, rights->cmsg_type = SCM_RIGHTS, rights->cmsg_len = CMSG_LEN(sizeof descriptors);
    memcpy(CMSG_DATA(rights), descriptors, sizeof descriptors);
    if (sendmsg(server, &message, MSG_NOSIGNAL) != 1) return 0;
    return answered(server);
cold:
    close(server);
    return -1;
}

int main(int count, char **arguments) {
    int code = ask(count > 1 ? arguments[1] : "");
    if (code >= 0) return code;
    execl(PYTHON, PYTHON, "-IS", ENTRY, count > 1 ? arguments[1] : NULL, NULL);
    return 0;
}
