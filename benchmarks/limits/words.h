/* The rule of Life on vectors of words, a bit a cell: AVX-512's three-way logic where the processor has it, else
   vectors of 32 bytes that the compiler makes of whatever there is. */
#ifndef WORDS_H
#define WORDS_H
#include <stdint.h>
#include <string.h>
typedef uint64_t u64;

#ifdef __AVX512F__
#include <immintrin.h>
typedef __m512i V;
static inline V load(const u64 *p) { return _mm512_loadu_si512(p); }
static inline void store(u64 *p, V v) { _mm512_storeu_si512(p, v); }
#define XOR3(a, b, c) _mm512_ternarylogic_epi64(a, b, c, 0x96)
#define MAJORITY(a, b, c) _mm512_ternarylogic_epi64(a, b, c, 0xE8)
#define ONE_OF_TWO_AND_NOT(a, b, c) _mm512_ternarylogic_epi64(a, b, c, 0x14) /* (a ^ b) & ~c, where a & b & ~c is none */
#define AND_EITHER(a, b, c) _mm512_ternarylogic_epi64(a, b, c, 0xE0)         /* a & (b | c) */
#else
typedef u64 V __attribute__((vector_size(32)));
static inline V load(const u64 *p) { V v; memcpy(&v, p, sizeof v); return v; }
static inline void store(u64 *p, V v) { memcpy(p, &v, sizeof v); }
#define XOR3(a, b, c) ((a) ^ (b) ^ (c))
static inline V MAJORITY(V a, V b, V c) { V x = a ^ b; return (a & b) | (x & c); }
static inline V ONE_OF_TWO_AND_NOT(V a, V b, V c) { return (a ^ b) & ~c; }
static inline V AND_EITHER(V a, V b, V c) { return a & (b | c); }
#endif
#define LANES ((long)(sizeof(V) / sizeof(u64)))

/* The middle's next state. Left and right columns of three cells: their sums' ones and twos. Above, middle, below. */
static inline V next_state(V left1, V left2, V right1, V right2, V above, V middle, V below)
{
    V mid1 = above ^ below, mid2 = above & below;
    V odd = XOR3(left1, right1, mid1), carry = MAJORITY(left1, right1, mid1);
    V twos = XOR3(left2, right2, mid2), fours = MAJORITY(left2, right2, mid2);
    V two = ONE_OF_TWO_AND_NOT(twos, carry, fours); /* the sum of the neighbours is 2 or 3 */
    return AND_EITHER(two, odd, middle);
}
#endif
