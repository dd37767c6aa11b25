#pragma once
#include <xxhash.h>
#if defined(__x86_64__)
#include <xxh_x86dispatch.h>
#endif

/// XXH3-64 with the widest instructions of the processor.
///
/// On x86-64 the library compiles its plain function for every processor. That function takes ten times
/// as long for a thumbnail. The hash is the same.
static inline XXH64_hash_t img_xxh3_64bits(const void *bytes, size_t count) {
#if defined(__x86_64__)
  return XXH3_64bits_dispatch(bytes, count);
#else
  return XXH3_64bits(bytes, count);
#endif
}

/// XXH3-64 with a seed.
static inline XXH64_hash_t img_xxh3_64bits_seeded(const void *bytes, size_t count, uint64_t seed) {
#if defined(__x86_64__)
  return XXH3_64bits_withSeed_dispatch(bytes, count, seed);
#else
  return XXH3_64bits_withSeed(bytes, count, seed);
#endif
}
