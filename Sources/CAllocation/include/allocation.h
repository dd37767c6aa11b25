#pragma once
#include <stdint.h>

/// From now on the size of each allocation that is refused is stored in the 64-bit word at that address,
/// in place of the one before. The word lives as long as the process.
void img_record_refused_allocations(uintptr_t word);
