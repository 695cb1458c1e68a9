/* What every limit has: a clock, boards in files, a checksum, and a line of JSON for each turn it is given.
   BSD-3-Clause, as all of the course. */
#ifndef CONTESTANT_H
#define CONTESTANT_H
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef _OPENMP
#include <omp.h>
#else
static int omp_get_max_threads(void) { return 1; }
static int omp_get_thread_num(void) { return 0; }
#endif

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

static void *room(size_t bytes) /* zeroed, and begins with a cache line */
{
    void *found = NULL;
    if (posix_memalign(&found, 64, bytes + 64)) { fprintf(stderr, "no memory for %zu bytes\n", bytes); exit(1); }
    return memset(found, 0, bytes + 64);
}

static uint8_t *read_file(const char *path, size_t bytes)
{
    uint8_t *into = room(bytes);
    FILE *file = fopen(path, "rb");
    if (!file || fread(into, 1, bytes, file) != bytes) { fprintf(stderr, "%s: not %zu bytes\n", path, bytes); exit(1); }
    fclose(file);
    return into;
}

static uint32_t crc32(const uint8_t *bytes, size_t count) /* as zlib's */
{
    uint32_t table[256], sum = ~0u;
    for (uint32_t i = 0; i < 256; i++) {
        table[i] = i;
        for (int bit = 0; bit < 8; bit++) table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xEDB88320u : 0);
    }
    for (size_t i = 0; i < count; i++) sum = table[(sum ^ bytes[i]) & 255] ^ sum >> 8;
    return ~sum;
}

static double ends, best; /* of the turn that is on: when it ends, its best run's seconds (0: no run yet) */
static double last;       /* answer that was told */

static int asked(void) /* for one more run, in this turn or in the next, of as many seconds as its line says */
{
    char line[64];
    if (best && now() < ends) return 1;
    if (best) { printf("], \"seconds\": %.12g}\n", best); fflush(stdout); best = 0; }
    if (!fgets(line, sizeof line, stdin)) return 0;
    ends = now() + atof(line);
    return 1;
}

static void say_ready(void)
{
    printf("{\"ready\": {\"compiler\": \"" __VERSION__ "\"}}\n");
    fflush(stdout);
}

static void say(double seconds, double answer) /* of one run: the best counts, and each answer that is new */
{
    if (seconds <= 0) seconds = 1e-9; /* the clock's step */
    if (!best || answer != last) printf(best ? ", %.17g" : "{\"answers\": [%.17g", answer);
    if (!best || seconds < best) best = seconds;
    last = answer;
}
#endif
