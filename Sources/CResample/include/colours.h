#pragma once
#include "resample.h"

// From the levels of a file to those of a screen, pixel by pixel, with 8 bits a sample.

enum {
  /// The light of a channel is a part of `1 << IMG_LIGHT_BITS` where a level is looked up for it.
  IMG_LIGHT_BITS = 14,
  /// More bits of the parts that the light of a channel is the sum of.
  IMG_PART_BITS = 8,
};

/// How the levels of one space of red, green and blue become those of another, which each channel of the other
/// adds to.
struct img_colour_conversion {
  /// For red, green and blue, for each of 256 levels: what that adds to the light of red, of green and of blue,
  /// in parts of `1 << (IMG_LIGHT_BITS + IMG_PART_BITS)`, and a zero.
  const int32_t *_Nonnull parts;
  /// For each light from none to full: the level.
  const uint8_t *_Nonnull levels;
};

/// Converts red, green and blue of pixels. A fourth sample is copied.
///
/// - band_count: the samples of a pixel, 3 or 4.
/// - result: may be `pixels`.
void img_convert_colours(
    const uint8_t *_Nonnull pixels, size_t pixel_count, int band_count,
    struct img_colour_conversion conversion, uint8_t *_Nonnull result);

/// Widens levels of luma from 16 to 235, or of chroma from 16 to 240, to those from 0 to 255 of JFIF, in place
/// (ITU-T T.871 section 7 has the formulas of BT.601 without its range).
///
/// - height: the rows of the plane.
void img_widen_range(struct img_samples plane, int height, bool is_luma);

/// Makes pixels of red, green and blue, without gaps between the rows, of luma and two components of chroma that
/// have as many samples (ITU-T T.871, section 7).
///
/// - height: the rows of each plane.
void img_join_planes(
    const struct img_samples planes[_Nonnull 3], int height, uint8_t *_Nonnull pixels);
