// The allocation functions of a measuring program and all its libraries. The linker finds them before those
// of the C library, and they forward to it under its internal names, which no header declares.

#include "allocation_count.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

void *__libc_malloc(size_t byte_count);
void *__libc_calloc(size_t count, size_t byte_count);
void *__libc_realloc(void *memory, size_t byte_count);
void *__libc_memalign(size_t alignment, size_t byte_count);

static atomic_bool is_counting;
static _Atomic(uint64_t) allocation_count;

void img_start_counting_allocations(void) {
  atomic_store(&allocation_count, 0);
  atomic_store(&is_counting, true);
}

uint64_t img_stop_counting_allocations(void) {
  atomic_store(&is_counting, false);
  return atomic_load(&allocation_count);
}

// The address sanitiser has its own functions. Nothing is counted under it.
#if !__has_feature(address_sanitizer)

static void count(void) {
  if (!atomic_load_explicit(&is_counting, memory_order_relaxed)) return;
  atomic_fetch_add_explicit(&allocation_count, 1, memory_order_relaxed);
}

void *malloc(size_t byte_count) {
  count();
  return __libc_malloc(byte_count);
}

void *calloc(size_t item_count, size_t byte_count) {
  count();
  return __libc_calloc(item_count, byte_count);
}

void *realloc(void *memory, size_t byte_count) {
  count();
  return __libc_realloc(memory, byte_count);
}

void *memalign(size_t alignment, size_t byte_count) {
  count();
  return __libc_memalign(alignment, byte_count);
}

void *aligned_alloc(size_t alignment, size_t byte_count) {
  return memalign(alignment, byte_count);
}

int posix_memalign(void **memory, size_t alignment, size_t byte_count) {
  void *aligned = memalign(alignment, byte_count);
  if (!aligned) return ENOMEM;
  *memory = aligned;
  return 0;
}

#endif
