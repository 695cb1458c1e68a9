/* Game of Life on a torus of 50 by 50: a word a column, the board in registers with AVX-512, else in cache. BSD-3-Clause.

   life50 BOARD GENERATIONS: BOARD is a file of 2500 bits, row by row, the first cell in the highest bit. */
#include "contestant.h"
#include "words.h"
#define N 50
static const u64 MASK = (1ull << N) - 1;

#ifdef __AVX512F__
static inline V up(V b, V mask) { return _mm512_ternarylogic_epi64(_mm512_slli_epi64(b, 1), _mm512_srli_epi64(b, N - 1), mask, 0xA8); }
static inline V down(V b, V mask) { return _mm512_ternarylogic_epi64(_mm512_srli_epi64(b, 1), _mm512_slli_epi64(b, N - 1), mask, 0xA8); }

__attribute__((noinline)) static void run(u64 *words, long generations)
{
    const V mask = _mm512_set1_epi64(MASK);
    const V before_first = _mm512_set_epi64(6, 5, 4, 3, 2, 1, 0, 9); /* column 49 stands in word 1 of the last vector */
    const V after_last = _mm512_set_epi64(8, 8, 8, 8, 8, 8, 8, 1);   /* after it comes column 0 */
    V board[7];
    for (int i = 0; i < 6; i++) board[i] = load(words + 8 * i);
    board[6] = _mm512_maskz_loadu_epi64(3, words + 48); /* its words 2 to 7 are never a neighbour of the others */
    for (long g = 0; g < generations; g++) {
        V above[7], below[7], ones[7], twos[7];
        #pragma GCC unroll 7
        for (int i = 0; i < 7; i++) {
            above[i] = up(board[i], mask);
            below[i] = down(board[i], mask);
            ones[i] = XOR3(above[i], board[i], below[i]);
            twos[i] = MAJORITY(above[i], board[i], below[i]);
        }
        #pragma GCC unroll 7
        for (int i = 0; i < 7; i++) {
            V left1 = i ? _mm512_alignr_epi64(ones[i], ones[i - 1], 7) : _mm512_permutex2var_epi64(ones[0], before_first, ones[6]);
            V left2 = i ? _mm512_alignr_epi64(twos[i], twos[i - 1], 7) : _mm512_permutex2var_epi64(twos[0], before_first, twos[6]);
            V right1 = i < 6 ? _mm512_alignr_epi64(ones[i + 1], ones[i], 1) : _mm512_permutex2var_epi64(ones[6], after_last, ones[0]);
            V right2 = i < 6 ? _mm512_alignr_epi64(twos[i + 1], twos[i], 1) : _mm512_permutex2var_epi64(twos[6], after_last, twos[0]);
            board[i] = next_state(left1, left2, right1, right2, above[i], board[i], below[i]);
        }
    }
    for (int i = 0; i < 6; i++) store(words + 8 * i, board[i]);
    _mm512_mask_storeu_epi64(words + 48, 3, board[6]);
}
#else
static void generation(u64 *restrict from, u64 *restrict to) /* N + 2 words: a column of ghosts on each side */
{
    u64 ones[N + 2], twos[N + 2], sum[N + 2], both[N + 2];
    from[0] = from[N];
    from[N + 1] = from[1];
    for (int x = 0; x < N + 2; x++) {
        u64 b = from[x], above = (b << 1 | b >> (N - 1)) & MASK, below = (b >> 1 | b << (N - 1)) & MASK;
        sum[x] = above ^ below;
        both[x] = above & below;
        ones[x] = sum[x] ^ b;
        twos[x] = both[x] | (sum[x] & b);
    }
    for (int x = 1; x <= N; x++) {
        u64 pair = ones[x - 1] ^ ones[x + 1], odd = pair ^ sum[x], carry = (ones[x - 1] & ones[x + 1]) | (pair & sum[x]);
        u64 t = twos[x - 1] ^ twos[x + 1], u = both[x] ^ carry;
        u64 four = (twos[x - 1] & twos[x + 1]) | (both[x] & carry);
        to[x] = (t ^ u) & (odd | from[x]) & ~four;
    }
}

__attribute__((noinline)) static void run(u64 *words, long generations)
{
    u64 a[N + 2], b[N + 2];
    memcpy(a + 1, words, N * sizeof(u64));
    for (long g = 0; g < generations; g++) {
        if (g & 1) generation(b, a); else generation(a, b);
    }
    memcpy(words, (generations & 1 ? b : a) + 1, N * sizeof(u64));
}
#endif

int main(int count, char **words)
{
    if (count != 3) { fprintf(stderr, "life50 BOARD GENERATIONS\n"); return 2; }
    long generations = atol(words[2]), bytes = (N * N + 7) / 8;
    uint8_t *bits = read_file(words[1], bytes), *out = room(bytes);
    say_ready();
    while (asked()) {
        u64 board[64] = {0};
        for (long at = 0; at < N * N; at++) board[at % N] |= (u64)(bits[at >> 3] >> (7 - (at & 7)) & 1) << at / N;
        double began = now();
        run(board, generations);
        double seconds = now() - began;
        memset(out, 0, bytes);
        for (long at = 0; at < N * N; at++) out[at >> 3] |= (uint8_t)((board[at % N] >> at / N & 1) << (7 - (at & 7)));
        say(seconds, crc32(out, bytes));
    }
    return 0;
}
