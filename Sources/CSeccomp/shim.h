#pragma once
#include <seccomp.h>

/// SCMP_ACT_ERRNO, a macro with an argument, which Swift does not import: the call fails with this errno.
static inline uint32_t img_seccomp_fail_action(uint16_t code) { return SCMP_ACT_ERRNO(code); }
