#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Weighted means of 8-bit samples. In C, because compilers turn these loops into vector instructions. The
// loops of libvips that are as fast are compiled at run time, which a locked process cannot do.

enum {
  /// Weights are parts of `1 << IMG_WEIGHT_BITS`.
  IMG_WEIGHT_BITS = 14,
  /// The space between the weights of two samples is a multiple of this, filled with zeros.
  IMG_WEIGHT_ALIGNMENT = 16,
  /// The most pixels of a row of means.
  IMG_MAXIMUM_MEAN_COUNT = 100,
};

/// How the samples along one side of the result are computed.
struct img_resampling {
  /// For each sample of the result: the first sample of the source that counts.
  const int32_t *_Nonnull starts;
  /// For each sample of the result: a weight for the first sample that counts and each of its successors.
  const int16_t *_Nonnull weights;
  /// The samples of the source that count for one of the result.
  int tap_count;
  /// The weights from those of one sample to those of the next.
  int weight_stride;
  /// The samples of the result.
  int count;
};

/// Rows of samples in memory, `band_count` for each pixel.
struct img_samples {
  uint8_t *_Nonnull samples;
  /// The bytes from one row to the next.
  size_t row_stride;
  /// The pixels of a row.
  int width;
};

/// Whether the last sample of every pixel is 255.
///
/// - height: the rows of the image.
bool img_is_opaque(struct img_samples image, int height, int band_count);

/// A few pixels in place of many: each is the mean of up to 16 pixels of its part of the source, evenly spread.
/// More pixels may be asked for than there are.
///
/// - height: the rows of `source`.
/// - result: at most `IMG_MAXIMUM_MEAN_COUNT` pixels wide.
/// - has_alpha: whether the last sample of a pixel says how much its others count.
/// - result_height: the rows of `result`.
void img_sample_means(
    struct img_samples source, int height, int band_count, bool has_alpha, struct img_samples result,
    int result_height);

/// Rows become columns.
///
/// - height: the rows of `source`.
void img_transpose(struct img_samples source, int height, struct img_samples result);

/// Fills the memory beyond the picture with its last column and its last row.
///
/// - height: the rows of the picture.
/// - row_count: the rows in memory.
void img_repeat_edges(struct img_samples image, int height, int row_count);

/// The 16-bit words that `img_resample` needs as scratch memory for a source row of `width` pixels.
size_t img_resample_scratch_count(int width, int band_count);

/// Whether this processor has vectors of 32 bytes: AVX2.
bool img_has_wide_vectors(void);

/// Computes all rows of `result` from `source`.
///
/// - band_count: the samples of a pixel, 1 to 4.
/// - uses_wide_vectors: no, or what img_has_wide_vectors() says. The result is the same.
/// - scratch: `img_resample_scratch_count()` words.
void img_resample(
    struct img_samples source, struct img_resampling rows, struct img_resampling columns, int band_count,
    bool uses_wide_vectors, int16_t *_Nonnull scratch, struct img_samples result);
