/* Darts a second: xoshiro128+ in 64 lanes, two 16-bit coordinates a draw, counted by whole numbers. BSD-3-Clause.

   pi DARTS: each thread throws its share. A draw r has the coordinates u, v, its signed halves; the centre of the cell
   (u, v) is at (u + 1/2, v + 1/2), and it lies inside where u(u+1) + v(v+1) < 2^30. */
#include "contestant.h"
#if defined(__AVX512BW__)
#include <immintrin.h>
typedef __m512i V;
#define WIDTH 16
#else
typedef uint32_t V __attribute__((vector_size(32)));
typedef int32_t S __attribute__((vector_size(32)));
#define WIDTH 8
#endif
#define CHAINS 4 /* independent states a thread, so that no draw waits for the one before */

__attribute__((noinline)) static long inside(uint64_t seed, long darts)
{
    V s[4][CHAINS], hits[CHAINS];
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < CHAINS; j++) {
            uint32_t lane[WIDTH];
            for (int k = 0; k < WIDTH; k++) {
                seed = seed * 6364136223846793005ull + 1442695040888963407ull;
                lane[k] = seed >> 32;
            }
            memcpy(&s[i][j], lane, sizeof lane);
        }
    memset(hits, 0, sizeof hits);
    for (long n = 0; n < darts / (CHAINS * WIDTH); n++) {
        #pragma GCC unroll 4
        for (int j = 0; j < CHAINS; j++) {
#if defined(__AVX512BW__)
            V r = _mm512_add_epi32(s[0][j], s[3][j]), t = _mm512_slli_epi32(s[1][j], 9);
            V s2 = s[2][j] ^ s[0][j], s3 = s[3][j] ^ s[1][j];
            s[1][j] ^= s2; s[0][j] ^= s3; s[2][j] = s2 ^ t; s[3][j] = _mm512_rol_epi32(s3, 11);
            V d = _mm512_add_epi32(_mm512_madd_epi16(r, r), _mm512_madd_epi16(r, _mm512_set1_epi16(1)));
            __mmask16 hit = _mm512_cmplt_epi32_mask(d, _mm512_set1_epi32(1 << 30));
            hits[j] = _mm512_mask_add_epi32(hits[j], hit, hits[j], _mm512_set1_epi32(1));
#else
            V r = s[0][j] + s[3][j], t = s[1][j] << 9, s2 = s[2][j] ^ s[0][j], s3 = s[3][j] ^ s[1][j];
            s[1][j] ^= s2; s[0][j] ^= s3; s[2][j] = s2 ^ t; s[3][j] = s3 << 11 | s3 >> 21;
            S u = (S)r >> 16, v = (S)(r << 16) >> 16;
            hits[j] -= (V)(u * u + u + v * v + v < (1 << 30));
#endif
        }
    }
    long all = 0;
    uint32_t lane[CHAINS * WIDTH];
    memcpy(lane, hits, sizeof lane);
    for (int i = 0; i < CHAINS * WIDTH; i++) all += lane[i];
    return all;
}

int main(int count, char **words)
{
    if (count != 2) { fprintf(stderr, "pi DARTS\n"); return 2; }
    int threads = omp_get_max_threads();
    long share = atol(words[1]) / threads / (CHAINS * WIDTH) * (CHAINS * WIDTH), seed = 1;
    inside(seed, share);
    say_ready();
    while (asked()) {
        long hits = 0;
        double began = now();
        #pragma omp parallel for reduction(+ : hits)
        for (int t = 0; t < threads; t++) hits += inside(seed + t, share);
        double seconds = now() - began;
        seed += threads;
        say(seconds, 4.0 * hits / ((double)share * threads));
    }
    return 0;
}
