// The allocation functions of a program and of all its libraries, which find them before those of the C
// library. They pass on to those, and record what is refused: because of a limit, or because the machine
// has no memory left.
//
// The C library does not record that, and a library whose allocation is refused ends the process in its
// own way: by abort(3), by a trap, or with a null pointer. Swift reserves these names for its runtime, so
// this is C. They run before the program's first line and in any thread. Memory is freed by the C library.

#define _GNU_SOURCE
#include "allocation.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

// The allocator of the C library under the names that stay when a program has functions of its own by the
// usual ones. No header declares them.
void *__libc_malloc(size_t byte_count);
void *__libc_calloc(size_t count, size_t byte_count);
void *__libc_realloc(void *memory, size_t byte_count);
void *__libc_memalign(size_t alignment, size_t byte_count);

/// 0 for nowhere.
static _Atomic(uintptr_t) refusal_word;

void img_record_refused_allocations(uintptr_t word) {
  atomic_store_explicit(&refusal_word, word, memory_order_release);
}

static void note_refusal(size_t byte_count) {
  uintptr_t word = atomic_load_explicit(&refusal_word, memory_order_acquire);
  if (word == 0) return;
  atomic_store_explicit((_Atomic(uint64_t) *)word, byte_count, memory_order_release);
}

static inline void *checked(void *memory, size_t byte_count) {
  if (memory == NULL && byte_count > 0) note_refusal(byte_count);
  return memory;
}

void *malloc(size_t byte_count) { return checked(__libc_malloc(byte_count), byte_count); }

void *calloc(size_t count, size_t byte_count) {
  size_t product;
  if (__builtin_mul_overflow(count, byte_count, &product)) product = SIZE_MAX;
  return checked(__libc_calloc(count, byte_count), product);
}

void *realloc(void *memory, size_t byte_count) {
  return checked(__libc_realloc(memory, byte_count), byte_count);
}

void *memalign(size_t alignment, size_t byte_count) {
  return checked(__libc_memalign(alignment, byte_count), byte_count);
}

void *aligned_alloc(size_t alignment, size_t byte_count) {
  return memalign(alignment, byte_count);
}

/// Leaves errno as it was.
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

/// A thread's stack is an allocation, too. EAGAIN stands for one that is refused, and for too many
/// threads, which is no matter of memory.
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
    note_refusal(byte_count);
  } else {
    munmap(stack, byte_count);
  }
  return code;
}
