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

/// How much smaller planes are decoded.
struct img_jpeg_scale {
  /// The size of luma, in eighths: 1, 2, 4 or 8.
  unsigned eighths;
  /// The samples along a side of a block of chroma, at most: 1, 2, 4 or 8.
  int chroma_block_side;
};

static inline void img_jpeg_shrink_chroma(struct img_jpeg_decoder *_Nonnull decoder) {
  struct jpeg_decompress_struct *info = &decoder->info;
  const size_t side = (size_t) decoder->chroma_block_side;
  for (int index = 1; index < info->num_components; index += 1) {
    jpeg_component_info *component = &info->comp_info[index];
    if (img_jpeg_block_size(component) <= (int) side) continue;
#if JPEG_LIB_VERSION >= 70
    component->DCT_h_scaled_size = (int) side;
    component->DCT_v_scaled_size = (int) side;
#else
    component->DCT_scaled_size = (int) side;
#endif
    const size_t columns = (size_t) info->max_h_samp_factor * DCTSIZE;
    const size_t rows = (size_t) info->max_v_samp_factor * DCTSIZE;
    const size_t width = info->image_width * (size_t) component->h_samp_factor * side;
    const size_t height = info->image_height * (size_t) component->v_samp_factor * side;
    component->downsampled_width = (JDIMENSION) ((width + columns - 1) / columns);
    component->downsampled_height = (JDIMENSION) ((height + rows - 1) / rows);
  }
}

/// Calls libjpeg's own function, and makes blocks of chroma smaller. libjpeg computes the sizes of blocks, calls this
/// function of its memory manager (jpeglib.h, struct jpeg_memory_mgr), and only then prepares for blocks of those
/// sizes. Nothing that was allocated before depends on them where planes are decoded.
static inline void img_jpeg_realize_arrays(j_common_ptr _Nonnull common) {
  struct img_jpeg_decoder *decoder = (struct img_jpeg_decoder *) common->client_data;
  decoder->realize_arrays(common);
  img_jpeg_shrink_chroma(decoder);
}

static inline void img_jpeg_set_scale(
    struct img_jpeg_decoder *_Nonnull decoder, struct img_jpeg_scale scale) {
  decoder->info.scale_num = scale.eighths;
  decoder->info.scale_denom = 8;
  decoder->chroma_block_side = scale.chroma_block_side;
}

/// Computes the shapes of the components at a scale, before a decode starts. Returns false on failure.
static inline bool img_jpeg_shape_planes(
    struct img_jpeg_decoder *_Nonnull decoder, struct img_jpeg_scale scale) {
  if (setjmp(decoder->failure) != 0) return false;
  img_jpeg_set_scale(decoder, scale);
  jpeg_calc_output_dimensions(&decoder->info);
  img_jpeg_shrink_chroma(decoder);
  return true;
}

/// Starts to decode planes at a scale. Returns false on failure.
static inline bool img_jpeg_start_planes(
    struct img_jpeg_decoder *_Nonnull decoder, struct img_jpeg_scale scale) {
  if (setjmp(decoder->failure) != 0) return false;
  decoder->info.raw_data_out = TRUE;
  decoder->info.out_color_space = decoder->info.jpeg_color_space;
  img_jpeg_set_scale(decoder, scale);
  decoder->realize_arrays = decoder->info.mem->realize_virt_arrays;
  decoder->info.mem->realize_virt_arrays = img_jpeg_realize_arrays;
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
