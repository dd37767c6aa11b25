#include "resample.h"

#include <string.h>

#ifdef __x86_64__
#include <immintrin.h>
#endif

enum {
  // Between the two passes, samples have so many bits after the point. Lanczos weights overshoot the range of
  // a sample by less than a third, so 16 bits hold them.
  fraction_bits = 6,
  // The samples that are computed at once.
  block_width = 16,
  word_count = block_width / sizeof(int16_t),
};

// Vectors of 16 bytes are in the base set of x86-64 and of arm64.
typedef uint8_t bytes __attribute__((vector_size(block_width), aligned(1)));
typedef int16_t words __attribute__((vector_size(block_width), aligned(2)));
typedef int32_t sums __attribute__((vector_size(block_width), aligned(4)));

/// The sums of the products of each two neighbours.
static inline sums products(words one, words other) {
#ifdef __x86_64__
  return (sums)_mm_madd_epi16((__m128i)one, (__m128i)other);
#else
  return __builtin_convertvector(__builtin_shufflevector(one, one, 0, 2, 4, 6), sums) *
          __builtin_convertvector(__builtin_shufflevector(other, other, 0, 2, 4, 6), sums) +
      __builtin_convertvector(__builtin_shufflevector(one, one, 1, 3, 5, 7), sums) *
          __builtin_convertvector(__builtin_shufflevector(other, other, 1, 3, 5, 7), sums);
#endif
}

/// Adds to `totals` what two rows of `block_width` samples contribute.
static inline void add_rows(
    const uint8_t *_Nonnull one, const uint8_t *_Nonnull other, words weights, sums *_Nonnull totals) {
  const bytes first = *(const bytes *)one, second = *(const bytes *)other;
  const bytes low = __builtin_shufflevector(
      first, second, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  const bytes high = __builtin_shufflevector(
      first, second, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
#define IMG_WIDENED(vector, ...) \
  __builtin_convertvector(__builtin_shufflevector(vector, vector, __VA_ARGS__), words)
  totals[0] += products(IMG_WIDENED(low, 0, 1, 2, 3, 4, 5, 6, 7), weights);
  totals[1] += products(IMG_WIDENED(low, 8, 9, 10, 11, 12, 13, 14, 15), weights);
  totals[2] += products(IMG_WIDENED(high, 0, 1, 2, 3, 4, 5, 6, 7), weights);
  totals[3] += products(IMG_WIDENED(high, 8, 9, 10, 11, 12, 13, 14, 15), weights);
#undef IMG_WIDENED
}

/// A pair of weights, four times. A zero follows the weights if their number is odd.
static inline words weight_pairs(const int16_t *_Nonnull weights) {
  int32_t pair;
  memcpy(&pair, weights, sizeof pair);
  return (words)((sums){0} + pair);
}

static inline int32_t rounded(int32_t sum, int bits) { return (sum + (1 << (bits - 1))) >> bits; }

enum { row_bits = IMG_WEIGHT_BITS - fraction_bits };

/// The samples from `first` on of one row of weighted means of `tap_count` rows.
static void resample_rows_from(
    size_t first, const uint8_t *restrict rows, size_t row_stride, size_t count,
    const int16_t *restrict weights, int tap_count, int16_t *restrict result) {
  for (; first + block_width <= count; first += block_width) {
    sums totals[4] = {0};
    const uint8_t *row = rows + first;
    int tap = 0;
    for (; tap + 1 < tap_count; tap += 2, row += 2 * row_stride) {
      add_rows(row, row + row_stride, weight_pairs(weights + tap), totals);
    }
    if (tap < tap_count) add_rows(row, row, weight_pairs(weights + tap), totals);
    for (size_t index = 0; index < block_width; index += 1) {
      result[first + index] = (int16_t)rounded(totals[index / 4][index % 4], row_bits);
    }
  }
  for (; first < count; first += 1) {
    int32_t sum = 0;
    for (int tap = 0; tap < tap_count; tap += 1) {
      sum += rows[(size_t)tap * row_stride + first] * weights[tap];
    }
    result[first] = (int16_t)rounded(sum, row_bits);
  }
}

/// The weighted mean of samples of a row, as four sums that are still to be added.
static inline sums weighted(
    const int16_t *_Nonnull row, const struct img_resampling *_Nonnull columns, int index) {
  const int16_t *samples = row + columns->starts[index];
  const int16_t *weights = columns->weights + (size_t)index * (size_t)columns->weight_stride;
  sums total = {0};
  for (int tap = 0; tap < columns->tap_count; tap += word_count) {
    total += products(*(const words *)(samples + tap), *(const words *)(weights + tap));
  }
  return total;
}

static inline uint8_t byte(int32_t sum) {
  const int32_t value = rounded(sum, IMG_WEIGHT_BITS + fraction_bits);
  return value < 0 ? 0 : value > 255 ? 255 : (uint8_t)value;
}

/// The weighted means from `index` on along a row of one band. The row is followed by IMG_WEIGHT_ALIGNMENT words.
static void resample_columns_from(
    int index, const int16_t *restrict row, struct img_resampling columns, size_t band_count,
    uint8_t *restrict result) {
  for (; index + 4 <= columns.count; index += 4) {
    const sums a = weighted(row, &columns, index), b = weighted(row, &columns, index + 1);
    const sums c = weighted(row, &columns, index + 2), d = weighted(row, &columns, index + 3);
    const sums ab = __builtin_shufflevector(a, b, 0, 4, 1, 5) + __builtin_shufflevector(a, b, 2, 6, 3, 7);
    const sums cd = __builtin_shufflevector(c, d, 0, 4, 1, 5) + __builtin_shufflevector(c, d, 2, 6, 3, 7);
    const sums total =
        __builtin_shufflevector(ab, cd, 0, 1, 4, 5) + __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
    for (int offset = 0; offset < 4; offset += 1) {
      result[(size_t)(index + offset) * band_count] = byte(total[offset]);
    }
  }
  for (; index < columns.count; index += 1) {
    const sums total = weighted(row, &columns, index);
    result[(size_t)index * band_count] = byte(total[0] + total[1] + total[2] + total[3]);
  }
}

// MARK: With AVX2

// The sums are whole numbers, so their order makes no difference.
#ifdef __x86_64__
#define IMG_WITH_AVX2 __attribute__((target("avx2")))

/// One row of weighted means of `tap_count` rows.
///
/// - Returns: the first sample that is left to do.
IMG_WITH_AVX2 static size_t resample_rows_with_avx2(
    const uint8_t *restrict rows, size_t row_stride, size_t count, const int16_t *restrict weights,
    int tap_count, int16_t *restrict result) {
  const __m256i half = _mm256_set1_epi32(1 << (row_bits - 1));
  size_t first = 0;
  for (; first + block_width <= count; first += block_width) {
    __m256i low = half, high = half;
    const uint8_t *row = rows + first;
    for (int tap = 0; tap < tap_count; tap += 2, row += 2 * row_stride) {
      int32_t pair;
      memcpy(&pair, weights + tap, sizeof pair);
      const __m256i weight = _mm256_set1_epi32(pair);
      // A zero follows the weights if their number is odd.
      const uint8_t *next = tap + 1 < tap_count ? row + row_stride : row;
      const __m256i one = _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)row));
      const __m256i other = _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)next));
      low = _mm256_add_epi32(low, _mm256_madd_epi16(_mm256_unpacklo_epi16(one, other), weight));
      high = _mm256_add_epi32(high, _mm256_madd_epi16(_mm256_unpackhi_epi16(one, other), weight));
    }
    // Both mix samples within halves of a vector, which brings them back in order.
    const __m256i words = _mm256_packs_epi32(
        _mm256_srai_epi32(low, row_bits), _mm256_srai_epi32(high, row_bits));
    _mm256_storeu_si256((__m256i *)(result + first), words);
  }
  return first;
}

/// The weighted mean of samples of a row, as eight sums that are still to be added.
IMG_WITH_AVX2 static inline __m256i weighted_with_avx2(
    const int16_t *_Nonnull row, const struct img_resampling *_Nonnull columns, int index) {
  const int16_t *samples = row + columns->starts[index];
  const int16_t *weights = columns->weights + (size_t)index * (size_t)columns->weight_stride;
  __m256i total = _mm256_setzero_si256();
  for (int tap = 0; tap < columns->tap_count; tap += IMG_WEIGHT_ALIGNMENT) {
    const __m256i some = _mm256_loadu_si256((const __m256i *)(samples + tap));
    const __m256i their = _mm256_loadu_si256((const __m256i *)(weights + tap));
    total = _mm256_add_epi32(total, _mm256_madd_epi16(some, their));
  }
  return total;
}

/// Weighted means along a row of one band.
///
/// - Returns: the first sample that is left to do.
IMG_WITH_AVX2 static int resample_columns_with_avx2(
    const int16_t *restrict row, struct img_resampling columns, size_t band_count,
    uint8_t *restrict result) {
  enum { bits = IMG_WEIGHT_BITS + fraction_bits };
  const __m128i half = _mm_set1_epi32(1 << (bits - 1));
  int index = 0;
  for (; index + 4 <= columns.count; index += 4) {
    const __m256i ab = _mm256_hadd_epi32(
        weighted_with_avx2(row, &columns, index), weighted_with_avx2(row, &columns, index + 1));
    const __m256i cd = _mm256_hadd_epi32(
        weighted_with_avx2(row, &columns, index + 2), weighted_with_avx2(row, &columns, index + 3));
    const __m256i halves = _mm256_hadd_epi32(ab, cd);
    const __m128i totals =
        _mm_add_epi32(_mm256_castsi256_si128(halves), _mm256_extracti128_si256(halves, 1));
    const __m128i words = _mm_srai_epi32(_mm_add_epi32(totals, half), bits);
    const __m128i shorts = _mm_packs_epi32(words, words);
    const uint32_t four = (uint32_t)_mm_cvtsi128_si32(_mm_packus_epi16(shorts, shorts));
    if (band_count == 1) {
      memcpy(result + index, &four, sizeof four);
      continue;
    }
    for (int offset = 0; offset < 4; offset += 1) {
      result[(size_t)(index + offset) * band_count] = (uint8_t)(four >> (8 * offset));
    }
  }
  return index;
}
#endif

bool img_has_wide_vectors(void) {
#ifdef __x86_64__
  return __builtin_cpu_supports("avx2") != 0;
#else
  return false;
#endif
}

/// One row of weighted means of `tap_count` rows.
static void resample_rows(
    const uint8_t *restrict rows, size_t row_stride, size_t count, const int16_t *restrict weights,
    int tap_count, bool uses_wide_vectors, int16_t *restrict result) {
  size_t first = 0;
#ifdef __x86_64__
  if (uses_wide_vectors) {
    first = resample_rows_with_avx2(rows, row_stride, count, weights, tap_count, result);
  }
#endif
  resample_rows_from(first, rows, row_stride, count, weights, tap_count, result);
}

/// Weighted means along a row of one band. The row is followed by IMG_WEIGHT_ALIGNMENT words.
static void resample_columns(
    const int16_t *restrict row, struct img_resampling columns, size_t band_count,
    bool uses_wide_vectors, uint8_t *restrict result) {
  int index = 0;
#ifdef __x86_64__
  if (uses_wide_vectors) index = resample_columns_with_avx2(row, columns, band_count, result);
#endif
  resample_columns_from(index, row, columns, band_count, result);
}

static void extract_band(
    const int16_t *restrict row, size_t width, size_t band_count, int16_t *restrict band) {
  for (size_t index = 0; index < width; index += 1) band[index] = row[index * band_count];
}

// The row of all bands, and the row of one, which is read in whole groups of weights.
size_t img_resample_scratch_count(int width, int band_count) {
  return (size_t)width * ((size_t)band_count + 1) + 2 * IMG_WEIGHT_ALIGNMENT;
}

void img_resample(
    struct img_samples source, struct img_resampling rows, struct img_resampling columns, int band_count,
    bool uses_wide_vectors, int16_t *scratch, struct img_samples result) {
  const size_t width = (size_t)source.width, count = width * (size_t)band_count;
  int16_t *band = band_count == 1 ? scratch : scratch + count + IMG_WEIGHT_ALIGNMENT;
  memset(band + width, 0, IMG_WEIGHT_ALIGNMENT * sizeof *band);
  for (int y = 0; y < rows.count; y += 1) {
    resample_rows(
        source.samples + (size_t)rows.starts[y] * source.row_stride, source.row_stride, count,
        rows.weights + (size_t)y * (size_t)rows.weight_stride, rows.tap_count,
        uses_wide_vectors, scratch);
    uint8_t *row = result.samples + (size_t)y * result.row_stride;
    for (int index = 0; index < band_count; index += 1) {
      if (band_count > 1) extract_band(scratch + index, width, (size_t)band_count, band);
      resample_columns(band, columns, (size_t)band_count, uses_wide_vectors, row + index);
    }
  }
}

bool img_is_opaque(struct img_samples image, int height, int band_count) {
  const size_t step = (size_t)band_count, count = (size_t)image.width * step;
  for (size_t y = 0; y < (size_t)height; y += 1) {
    const uint8_t *row = image.samples + y * image.row_stride;
    uint8_t all = 255;
    for (size_t index = step - 1; index < count; index += step) all &= row[index];
    if (all != 255) return false;
  }
  return true;
}

/// Samples along one side that stand for a part of it.
struct places {
  size_t offsets[4];
  size_t count;
};

/// The middle of each of up to four pieces of the part `index` of `part_count` equal parts.
///
/// - step: the bytes from one place to the next.
static struct places places_in(size_t length, size_t step, size_t index, size_t part_count) {
  const size_t start = index * length / part_count, end = (index + 1) * length / part_count;
  const size_t shown = end > start ? end - start : 1;
  struct places places = {.count = shown < 4 ? shown : 4};
  for (size_t piece = 0; piece < places.count; piece += 1) {
    places.offsets[piece] = (start + (2 * piece + 1) * shown / (2 * places.count)) * step;
  }
  return places;
}

static inline __attribute__((always_inline)) void mean_of_part(
    const uint8_t *_Nonnull samples, const struct places *_Nonnull rows,
    const struct places *_Nonnull columns, size_t band_count, bool has_alpha, uint8_t *_Nonnull result) {
  uint32_t sums[4] = {0}, weight = 0;
  const size_t colour_count = has_alpha ? band_count - 1 : band_count;
  for (size_t y = 0; y < rows->count; y += 1) {
    const uint8_t *row = samples + rows->offsets[y];
    for (size_t x = 0; x < columns->count; x += 1) {
      const uint8_t *pixel = row + columns->offsets[x];
      const uint32_t share = has_alpha ? pixel[colour_count] : 1;
      for (size_t band = 0; band < colour_count; band += 1) sums[band] += share * pixel[band];
      weight += share;
    }
  }
  for (size_t band = 0; band < colour_count; band += 1) {
    result[band] = (uint8_t)(weight == 0 ? 0 : (sums[band] + weight / 2) / weight);
  }
  const uint32_t count = (uint32_t)(rows->count * columns->count);
  if (has_alpha) result[colour_count] = (uint8_t)((weight + count / 2) / count);
}

void img_sample_means(
    struct img_samples source, int height, int band_count, bool has_alpha, struct img_samples result,
    int result_height) {
  const size_t bands = (size_t)band_count, width = (size_t)result.width;
  struct places columns[IMG_MAXIMUM_MEAN_COUNT];
  for (size_t x = 0; x < width; x += 1) columns[x] = places_in((size_t)source.width, bands, x, width);
  for (size_t y = 0; y < (size_t)result_height; y += 1) {
    const struct places rows =
        places_in((size_t)height, source.row_stride, y, (size_t)result_height);
    uint8_t *row = result.samples + y * result.row_stride;
    // Where the compiler knows the number of bands, that takes a quarter of the time.
    if (bands == 1) {
      for (size_t x = 0; x < width; x += 1) {
        mean_of_part(source.samples, &rows, &columns[x], 1, false, row + x);
      }
    } else if (bands == 3) {
      for (size_t x = 0; x < width; x += 1) {
        mean_of_part(source.samples, &rows, &columns[x], 3, false, row + x * 3);
      }
    } else {
      for (size_t x = 0; x < width; x += 1) {
        mean_of_part(source.samples, &rows, &columns[x], bands, has_alpha, row + x * bands);
      }
    }
  }
}

void img_transpose(struct img_samples source, int height, struct img_samples result) {
  for (size_t x = 0; x < (size_t)source.width; x += 1) {
    const uint8_t *column = source.samples + x;
    uint8_t *row = result.samples + x * result.row_stride;
    for (size_t y = 0; y < (size_t)height; y += 1) row[y] = column[y * source.row_stride];
  }
}

void img_repeat_edges(struct img_samples image, int height, int row_count) {
  const size_t width = (size_t)image.width;
  for (size_t y = 0; y < (size_t)height; y += 1) {
    uint8_t *row = image.samples + y * image.row_stride;
    memset(row + width, row[width - 1], image.row_stride - width);
  }
  const uint8_t *last = image.samples + (size_t)(height - 1) * image.row_stride;
  for (size_t y = (size_t)height; y < (size_t)row_count; y += 1) {
    memcpy(image.samples + y * image.row_stride, last, image.row_stride);
  }
}
