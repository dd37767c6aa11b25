#pragma once
#include <stdint.h>

/// Counts the allocations of all threads from now on.
void img_start_counting_allocations(void);

/// Counts no more.
///
/// Returns the number of allocations since the start: calls of malloc(3), calloc(3), realloc(3) and
/// aligned_alloc(3), and of the functions that the C library has for the last one beside it.
uint64_t img_stop_counting_allocations(void);
