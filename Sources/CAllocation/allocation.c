// The allocation functions of a program and all its libraries. The linker finds them before those of the
// C library. They forward to the C library and record each failed allocation: a limit was reached, or the
// machine has no memory left.
//
// The C library records nothing, and a library handles a failed allocation in its own way: with abort(3),
// a trap, or a null pointer. This is C, because Swift reserves these names for its runtime. The functions
// run before main() and in any thread.

#define _GNU_SOURCE
#include "allocation.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

// Each function calls the same function of the next library: the C library, or an allocator that
// LD_PRELOAD puts before it. Memory must be freed by the library that allocated it. dlsym(3) may allocate
// while it resolves a name; the C library then serves the call under its internal names, which are never
// overridden. No header declares them.
void *__libc_malloc(size_t byte_count);
void *__libc_calloc(size_t count, size_t byte_count);
void *__libc_realloc(void *memory, size_t byte_count);
void *__libc_memalign(size_t alignment, size_t byte_count);

/// The address of the word that gets the sizes of failed allocations; 0 for none.
static _Atomic(uintptr_t) refusal_word;

void img_record_refused_allocations(uintptr_t word) {
  atomic_store_explicit(&refusal_word, word, memory_order_release);
}

// The address sanitiser has its own functions, which it needs before it can check this file's.
#if !__has_feature(address_sanitizer)

static _Thread_local bool is_resolving;

/// Sets `function` to the next function with this name, or to `fallback` while this thread resolves one.
#define RESOLVE(function, name, fallback) \
  do { \
    static _Atomic(void *) resolved; \
    void *found = atomic_load_explicit(&resolved, memory_order_acquire); \
    if (found == NULL && !is_resolving) { \
      is_resolving = true; \
      found = dlsym(RTLD_NEXT, name); \
      is_resolving = false; \
      atomic_store_explicit(&resolved, found, memory_order_release); \
    } \
    function = found == NULL ? fallback : (__typeof__(fallback) *)found; \
  } while (0)

static void record_refusal(size_t byte_count) {
  uintptr_t word = atomic_load_explicit(&refusal_word, memory_order_acquire);
  if (word == 0) return;
  atomic_store_explicit((_Atomic(uint64_t) *)word, byte_count, memory_order_release);
}

static inline void *checked(void *memory, size_t byte_count) {
  if (memory == NULL && byte_count > 0) record_refusal(byte_count);
  return memory;
}

void *malloc(size_t byte_count) {
  void *(*next)(size_t);
  RESOLVE(next, "malloc", __libc_malloc);
  return checked(next(byte_count), byte_count);
}

void *calloc(size_t count, size_t byte_count) {
  void *(*next)(size_t, size_t);
  RESOLVE(next, "calloc", __libc_calloc);
  size_t product;
  if (__builtin_mul_overflow(count, byte_count, &product)) product = SIZE_MAX;
  return checked(next(count, byte_count), product);
}

void *realloc(void *memory, size_t byte_count) {
  void *(*next)(void *, size_t);
  RESOLVE(next, "realloc", __libc_realloc);
  return checked(next(memory, byte_count), byte_count);
}

void *memalign(size_t alignment, size_t byte_count) {
  void *(*next)(size_t, size_t);
  RESOLVE(next, "memalign", __libc_memalign);
  return checked(next(alignment, byte_count), byte_count);
}

void *aligned_alloc(size_t alignment, size_t byte_count) {
  return memalign(alignment, byte_count);
}

/// Does not change errno.
int posix_memalign(void **memory, size_t alignment, size_t byte_count) {
  if (alignment == 0 || alignment % sizeof(void *) != 0 || (alignment & (alignment - 1)) != 0) {
    return EINVAL;
  }
  int earlier = errno;
  void *result = memalign(alignment, byte_count);
  errno = earlier;
  if (result == NULL) return ENOMEM;
  *memory = result;
  return 0;
}

typedef int creator(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

/// A thread's stack is an allocation too. EAGAIN means that the stack could not be allocated, or that
/// there are too many threads, so this function tries to map a stack to find out.
int pthread_create(
    pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *argument) {
  creator *create = (creator *)dlsym(RTLD_NEXT, "pthread_create");
  if (create == NULL) return ENOSYS;
  int code = create(thread, attributes, body, argument);
  if (code != EAGAIN) return code;
  size_t byte_count = (size_t)8 << 20;
  if (attributes != NULL) pthread_attr_getstacksize(attributes, &byte_count);
  void *stack =
      mmap(NULL, byte_count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (stack == MAP_FAILED) {
    record_refusal(byte_count);
  } else {
    munmap(stack, byte_count);
  }
  return code;
}

#endif
