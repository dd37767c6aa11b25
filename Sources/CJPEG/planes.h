#pragma once
#include "shim.h"

// Luma and chroma as a JPEG stores them: one plane of samples for each component, and no conversion of
// colours (libjpeg.txt, "Raw (downsampled) image data").

/// Room for the samples of one component. Rows have gaps and a last group of rows is complete, because
/// libjpeg reads and writes whole blocks.
struct img_jpeg_plane {
  uint8_t *_Nonnull samples;
  size_t row_stride;
};

/// The shape of a component while it is decoded.
struct img_jpeg_component {
  /// The samples that show a part of the picture.
  int width, height;
  /// The samples in memory.
  int row_stride, row_count;
  /// The pixels of the picture that a sample stands for.
  double pixels_per_column, pixels_per_row;
};

enum {
  img_jpeg_plane_count_maximum = 3,
  // ITU-T T.81 table B.2: at most 4 blocks. libjpeg scales blocks up to 16 samples.
  img_jpeg_group_row_count_maximum = 4 * 16,
};

static inline int img_jpeg_block_size(const jpeg_component_info *_Nonnull component) {
#if JPEG_LIB_VERSION >= 70
  return component->DCT_h_scaled_size;
#else
  return component->DCT_scaled_size;
#endif
}

/// Whether each component of a header has a sample for a whole number of the others' samples.
static inline bool img_jpeg_has_whole_factors(const struct img_jpeg_decoder *_Nonnull decoder) {
  int columns = 1, rows = 1;
  for (int index = 0; index < decoder->info.num_components; index += 1) {
    const jpeg_component_info *component = &decoder->info.comp_info[index];
    if (component->h_samp_factor > columns) columns = component->h_samp_factor;
    if (component->v_samp_factor > rows) rows = component->v_samp_factor;
  }
  for (int index = 0; index < decoder->info.num_components; index += 1) {
    const jpeg_component_info *component = &decoder->info.comp_info[index];
    if (columns % component->h_samp_factor != 0 || rows % component->v_samp_factor != 0) return false;
  }
  return true;
}

/// Computes the shapes of the components at `eighths`/8 of the size, before a decode starts. Returns false on
/// failure.
static inline bool img_jpeg_shape_planes(
    struct img_jpeg_decoder *_Nonnull decoder, unsigned eighths) {
  if (setjmp(decoder->failure) != 0) return false;
  decoder->info.scale_num = eighths;
  decoder->info.scale_denom = 8;
  jpeg_calc_output_dimensions(&decoder->info);
  return true;
}

/// Starts to decode planes at `eighths`/8 of the size. Returns false on failure.
static inline bool img_jpeg_start_planes(
    struct img_jpeg_decoder *_Nonnull decoder, unsigned eighths) {
  if (setjmp(decoder->failure) != 0) return false;
  decoder->info.raw_data_out = TRUE;
  decoder->info.out_color_space = decoder->info.jpeg_color_space;
  decoder->info.scale_num = eighths;
  decoder->info.scale_denom = 8;
  return jpeg_start_decompress(&decoder->info);
}

/// The shape of a component after img_jpeg_shape_planes() or img_jpeg_start_planes().
static inline struct img_jpeg_component img_jpeg_component_shape(
    const struct img_jpeg_decoder *_Nonnull decoder, int index) {
  const struct jpeg_decompress_struct *info = &decoder->info;
  const jpeg_component_info *component = &info->comp_info[index];
  const int size = img_jpeg_block_size(component);
  return (struct img_jpeg_component){
      .width = (int) component->downsampled_width,
      .height = (int) component->downsampled_height,
      .row_stride = (int) component->width_in_blocks * size,
      .row_count = (int) info->total_iMCU_rows * component->v_samp_factor * size,
      .pixels_per_column = 8.0 * info->max_h_samp_factor / (component->h_samp_factor * size),
      .pixels_per_row = 8.0 * info->max_v_samp_factor / (component->v_samp_factor * size),
  };
}

/// Sets `rows` to those of a group of rows of a plane.
static inline void img_jpeg_point_to_rows(
    JSAMPROW _Nonnull *_Nonnull rows, struct img_jpeg_plane plane, size_t group, int row_count) {
  for (size_t row = 0; row < (size_t) row_count; row += 1) {
    rows[row] = plane.samples + (group * (size_t) row_count + row) * plane.row_stride;
  }
}

/// Decodes all planes and reads to the end of the picture. Returns false on failure.
static inline bool img_jpeg_finish_planes(
    struct img_jpeg_decoder *_Nonnull decoder, const struct img_jpeg_plane *_Nonnull planes) {
  if (setjmp(decoder->failure) != 0) return false;
  struct jpeg_decompress_struct *info = &decoder->info;
  JSAMPROW rows[img_jpeg_plane_count_maximum][img_jpeg_group_row_count_maximum];
  JSAMPARRAY components[img_jpeg_plane_count_maximum] = {rows[0], rows[1], rows[2]};
  for (size_t group = 0; info->output_scanline < info->output_height; group += 1) {
    for (int index = 0; index < info->num_components; index += 1) {
      const jpeg_component_info *component = &info->comp_info[index];
      img_jpeg_point_to_rows(
          rows[index], planes[index], group, component->v_samp_factor * img_jpeg_block_size(component));
    }
    jpeg_read_raw_data(info, components, img_jpeg_group_row_count_maximum);
  }
  decoder->is_complete = img_jpeg_is_complete(info);
  jpeg_finish_decompress(info);
  return true;
}
