#include "colours.h"

// Compiled for processors with AVX2, too. The one that fits is chosen when the program is loaded.
#ifdef __x86_64__
#define IMG_FOR_EACH_PROCESSOR __attribute__((target_clones("avx2", "default")))
#else
#define IMG_FOR_EACH_PROCESSOR
#endif

typedef int32_t lights __attribute__((vector_size(16), aligned(4)));

static inline __attribute__((always_inline)) void convert(
    const uint8_t *pixels, size_t count, size_t band_count, struct img_colour_conversion conversion,
    uint8_t *result) {
  const lights *parts = (const lights *)conversion.parts;
  const lights none = {0}, full = none + (1 << IMG_LIGHT_BITS), half = none + (1 << (IMG_PART_BITS - 1));
  for (size_t index = 0; index < count * band_count; index += band_count) {
    const lights sum = half + parts[pixels[index]] + parts[256 + pixels[index + 1]] +
        parts[512 + pixels[index + 2]];
    const lights light =
        __builtin_elementwise_min(__builtin_elementwise_max(sum >> IMG_PART_BITS, none), full);
    result[index] = conversion.levels[light[0]];
    result[index + 1] = conversion.levels[light[1]];
    result[index + 2] = conversion.levels[light[2]];
    if (band_count == 4) result[index + 3] = pixels[index + 3];
  }
}

IMG_FOR_EACH_PROCESSOR void img_convert_colours(
    const uint8_t *pixels, size_t pixel_count, int band_count, struct img_colour_conversion conversion,
    uint8_t *result) {
  if (band_count == 3) {
    convert(pixels, pixel_count, 3, conversion, result);
  } else {
    convert(pixels, pixel_count, 4, conversion, result);
  }
}

enum { chroma_bits = 14 };

static inline uint8_t clamped(int32_t value) { return value < 0 ? 0 : value > 255 ? 255 : (uint8_t)value; }

IMG_FOR_EACH_PROCESSOR void img_widen_range(struct img_samples plane, int height, bool is_luma) {
  const int32_t zero = is_luma ? 16 : 128, middle = is_luma ? 0 : 128;
  const int32_t factor = ((255 << chroma_bits) + 112) / (is_luma ? 219 : 224);
  const int32_t offset = (middle << chroma_bits) + (1 << (chroma_bits - 1)) - zero * factor;
  for (size_t y = 0; y < (size_t)height; y += 1) {
    uint8_t *row = plane.samples + y * plane.row_stride;
    for (size_t x = 0; x < (size_t)plane.width; x += 1) {
      row[x] = clamped((row[x] * factor + offset) >> chroma_bits);
    }
  }
}

IMG_FOR_EACH_PROCESSOR void img_join_planes(const struct img_samples planes[3], int height, uint8_t *pixels) {
  const int32_t half = 1 << (chroma_bits - 1);
  const size_t width = (size_t)planes[0].width;
  for (size_t y = 0; y < (size_t)height; y += 1) {
    const uint8_t *luma = planes[0].samples + y * planes[0].row_stride;
    const uint8_t *blueness = planes[1].samples + y * planes[1].row_stride;
    const uint8_t *redness = planes[2].samples + y * planes[2].row_stride;
    uint8_t *row = pixels + y * width * 3;
    for (size_t x = 0; x < width; x += 1) {
      const int32_t base = (luma[x] << chroma_bits) + half;
      const int32_t blue = blueness[x] - 128, red = redness[x] - 128;
      // 1.402, 0.344136, 0.714136 and 1.772 of `1 << chroma_bits`.
      row[3 * x] = clamped((base + 22970 * red) >> chroma_bits);
      row[3 * x + 1] = clamped((base - 5638 * blue - 11700 * red) >> chroma_bits);
      row[3 * x + 2] = clamped((base + 29032 * blue) >> chroma_bits);
    }
  }
}
