#pragma once
#include <stddef.h>
#include <stdint.h>

// Weighted means of 8-bit samples. In C, because compilers turn these loops into vector instructions: the
// loops of libvips that are as fast are compiled at run time, which a locked process cannot do.

/// For each sample along one side of the result: the first sample of the source that counts, and a weight
/// for it and each of its `tap_count` - 1 successors. Weights are parts of `1 << IMG_WEIGHT_BITS`.
struct img_reduction {
  const int32_t *_Nonnull starts;
  const int16_t *_Nonnull weights;
  int tap_count;
};

enum { IMG_WEIGHT_BITS = 14, IMG_COLUMN_COUNT = 64 };

static inline uint8_t img_reduced_sample(int32_t sum) {
  int32_t value = (sum + (1 << (IMG_WEIGHT_BITS - 1))) >> IMG_WEIGHT_BITS;
  return value < 0 ? 0 : value > 255 ? 255 : (uint8_t)value;
}

/// One row of weighted means of `tap_count` rows.
static inline void img_reduce_rows(
    const uint8_t *_Nonnull restrict rows, size_t row_byte_count,
    const int16_t *_Nonnull restrict weights, int tap_count, uint8_t *_Nonnull restrict out) {
  for (size_t first = 0; first < row_byte_count; first += IMG_COLUMN_COUNT) {
    size_t rest = row_byte_count - first;
    int32_t sums[IMG_COLUMN_COUNT] = {0};
    if (rest >= IMG_COLUMN_COUNT) {
      for (int tap = 0; tap < tap_count; tap += 1) {
        const uint8_t *row = rows + (size_t)tap * row_byte_count + first;
        int16_t weight = weights[tap];
        for (int column = 0; column < IMG_COLUMN_COUNT; column += 1) {
          sums[column] += (int16_t)row[column] * weight;
        }
      }
      rest = IMG_COLUMN_COUNT;
    } else {
      for (int tap = 0; tap < tap_count; tap += 1) {
        const uint8_t *row = rows + (size_t)tap * row_byte_count + first;
        for (size_t column = 0; column < rest; column += 1) {
          sums[column] += (int16_t)row[column] * weights[tap];
        }
      }
    }
    for (size_t column = 0; column < rest; column += 1) {
      out[first + column] = img_reduced_sample(sums[column]);
    }
  }
}

/// Weighted means along a row. The compiler makes a variant for each constant `band_count`.
static inline __attribute__((always_inline)) void img_reduce_columns(
    const uint8_t *_Nonnull restrict row, int band_count, struct img_reduction columns, int width,
    uint8_t *_Nonnull restrict out) {
  for (int x = 0; x < width; x += 1) {
    const uint8_t *source = row + (size_t)columns.starts[x] * (size_t)band_count;
    const int16_t *weights = columns.weights + (size_t)x * (size_t)columns.tap_count;
    int32_t sums[4] = {0};
    for (int tap = 0; tap < columns.tap_count; tap += 1) {
      for (int band = 0; band < band_count; band += 1) {
        sums[band] += source[tap * band_count + band] * weights[tap];
      }
    }
    for (int band = 0; band < band_count; band += 1) {
      out[x * band_count + band] = img_reduced_sample(sums[band]);
    }
  }
}

/// Reduces an image of 1 to 4 bands without gaps between its rows.
///
/// - row: room for one row of the source.
static inline void img_reduce(
    const uint8_t *_Nonnull source, size_t row_byte_count, int band_count,
    struct img_reduction rows, int height, struct img_reduction columns, int width,
    uint8_t *_Nonnull row, uint8_t *_Nonnull out) {
  for (int y = 0; y < height; y += 1) {
    img_reduce_rows(
        source + (size_t)rows.starts[y] * row_byte_count, row_byte_count,
        rows.weights + (size_t)y * (size_t)rows.tap_count, rows.tap_count, row);
    switch (band_count) {
      case 1: img_reduce_columns(row, 1, columns, width, out); break;
      case 2: img_reduce_columns(row, 2, columns, width, out); break;
      case 3: img_reduce_columns(row, 3, columns, width, out); break;
      default: img_reduce_columns(row, 4, columns, width, out); break;
    }
    out += (size_t)width * (size_t)band_count;
  }
}
