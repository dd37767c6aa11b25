#pragma once
#include <zlib.h>

/// Prepares `stream` to decompress a gzip file. inflateInit2() is a macro, which Swift cannot call.
static inline int img_inflate_init_gzip(z_stream *stream) {
  return inflateInit2(stream, 16 + MAX_WBITS);
}

/// Prepares `stream` to decompress zlib data. inflateInit() is a macro, too.
static inline int img_inflate_init_zlib(z_stream *stream) {
  return inflateInit2(stream, MAX_WBITS);
}

/// Prepares `stream` to decompress deflate data without a header (RFC 1951).
static inline int img_inflate_init_raw(z_stream *stream) {
  return inflateInit2(stream, -MAX_WBITS);
}
