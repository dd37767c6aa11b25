#pragma once
#include <zlib.h>

/// inflateInit2() is a macro, which Swift cannot call. Makes `stream` read a gzip file.
static inline int img_inflate_init_gzip(z_stream *stream) {
  return inflateInit2(stream, 16 + MAX_WBITS);
}
