#pragma once
#include <stdint.h>

/// From now on, the 64-bit word at this address holds the size of the last failed allocation. The word
/// must live as long as the process.
void img_record_refused_allocations(uintptr_t word);
