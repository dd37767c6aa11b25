// libFuzzer as a library, which `-sanitize=fuzzer` links (llvm.org/docs/LibFuzzer.html, "Using libFuzzer
// as a library"). The toolchain has no header for it.

#pragma once

#include <stddef.h>
#include <stdint.h>

/// Runs libFuzzer with the arguments of a command line. The callback gets each input and returns 0.
int LLVMFuzzerRunDriver(int *argument_count, char ***arguments,
                        int (*callback)(const uint8_t *bytes, size_t byte_count));
