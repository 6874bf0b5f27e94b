// The least that a receiver of streams costs, for bench/serve/peers.sh: one thread, epoll, no HTTP library.
//
//   floor HOST PORT STREAMS REQUESTS TOKENS
//
// It keeps STREAMS connections busy until REQUESTS are answered, and counts events. The time to the first event begins before the
// request is written. It reads only what bench/serve sends: HTTP/1.1, chunked, no event split between two chunks.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

struct stream {
    int socket;
    int waits;     // for the first event
    double sent;   // s
    char tail[7];  // what the last read ended with
};

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void check(int is_right, const char *what) {
    if (!is_right) {
        perror(what);
        exit(1);
    }
}

int main(int count, char **words) {
    if (count != 6) {
        fprintf(stderr, "usage: floor HOST PORT STREAMS REQUESTS TOKENS\n");
        return 2;
    }
    int streams = atoi(words[3]), requests = atoi(words[4]), left = requests, answered = 0;
    if (streams > requests) streams = requests;
    char body[256], request[512], data[65536];
    snprintf(body, sizeof body,
             "{\"model\":\"known-schedule\",\"prompt\":\"a b c d\",\"max_tokens\":%d,\"stream\":true,"
             "\"stream_options\":{\"include_usage\":true},\"ignore_eos\":true}",
             atoi(words[5]));
    int length = snprintf(request, sizeof request,
                          "POST /v1/completions HTTP/1.1\r\nhost: %s:%s\r\ncontent-type: application/json\r\n"
                          "content-length: %zu\r\n\r\n%s",
                          words[1], words[2], strlen(body), body);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((unsigned short)atoi(words[2]))};
    check(inet_pton(AF_INET, words[1], &address.sin_addr) == 1, "HOST");
    struct stream *all = calloc((size_t)streams, sizeof *all);
    double *first = calloc((size_t)requests, sizeof *first);
    int epoll = epoll_create1(0), one = 1, firsts = 0;
    long events = 0;
    for (int i = 0; i < streams; i++) {
        all[i].socket = socket(AF_INET, SOCK_STREAM, 0);
        check(connect(all[i].socket, (struct sockaddr *)&address, sizeof address) == 0, "connect");
        setsockopt(all[i].socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &all[i]};
        epoll_ctl(epoll, EPOLL_CTL_ADD, all[i].socket, &event);
    }
    double start = now();
    for (int i = 0; i < streams; i++, left--) {
        all[i].sent = now();
        all[i].waits = 1;
        check(write(all[i].socket, request, (size_t)length) == length, "write");
    }
    struct epoll_event ready[1024];
    while (answered < requests) {
        int n = epoll_wait(epoll, ready, 1024, -1);
        for (int i = 0; i < n; i++) {
            struct stream *stream = ready[i].data.ptr;
            ssize_t got = read(stream->socket, data, sizeof data);
            check(got > 0, "read");
            for (char *at = data; (at = memchr(at, 'd', (size_t)(data + got - at))); at++) {
                if (data + got - at < 5 || memcmp(at, "data:", 5) != 0) continue;
                events++;
                if (stream->waits) first[firsts++] = now() - stream->sent;
                stream->waits = 0;
            }
            char end[14];
            size_t keep = got < 7 ? (size_t)got : 7;
            memcpy(end, stream->tail, 7);
            memcpy(end + 7, data + got - keep, keep);
            memcpy(stream->tail, end + keep, 7);
            if (memcmp(stream->tail, "\r\n0\r\n\r\n", 7) != 0) continue;
            answered++;
            if (left == 0) continue;
            left--;
            stream->sent = now();
            stream->waits = 1;
            check(write(stream->socket, request, (size_t)length) == length, "write");
        }
    }
    double seconds = now() - start, sum = 0;
    events -= 2L * requests;  // the usage and the end mark
    qsort(first, (size_t)firsts, sizeof *first, by_size);
    for (int i = 0; i < firsts; i++) sum += first[i];
    printf("%ld events, %.3f s, %.0f events/s, time to the first event: p99 %.2f ms, mean %.2f ms\n", events, seconds,
           (double)events / seconds, first[(firsts - 1) * 99 / 100] * 1e3, sum / firsts * 1e3);
    return 0;
}
