/* The mean of float32 numbers, added up in float64: bytes a second of a loop that the compiler makes vectors of.
   BSD-3-Clause.

   mean DATA COUNT: DATA is a file of COUNT float32. */
#include "contestant.h"

int main(int count, char **words)
{
    if (count != 3) { fprintf(stderr, "mean DATA COUNT\n"); return 2; }
    long n = atol(words[2]);
    const float *data = (const float *)read_file(words[1], n * sizeof(float));
    for (int warm = 1; warm || asked(); ) {
        double sum = 0, began = now();
        #pragma omp parallel for simd reduction(+ : sum)
        for (long i = 0; i < n; i++) sum += (double)data[i];
        double seconds = now() - began;
        if (warm) { warm = 0; say_ready(); } else say(seconds, sum / n);
    }
    return 0;
}
