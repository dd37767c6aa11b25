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

/// The shape of a component after img_jpeg_start_planes().
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

// MARK: Encoding

/// An encoder for one picture. The caller frees `bytes`, also after a failure.
struct img_jpeg_encoder {
  uint8_t *_Nullable bytes;
  size_t byte_count;
  struct jpeg_compress_struct info;
  struct jpeg_error_mgr errors;
  struct jpeg_destination_mgr destination;
  jmp_buf failure;
};

static inline void img_jpeg_encoder_fail(j_common_ptr _Nonnull common) {
  struct img_jpeg_encoder *encoder = (struct img_jpeg_encoder *) common->client_data;
  longjmp(encoder->failure, 1);
}

/// Doubles the room for bytes. `byte_count` is that room until the picture is complete.
static inline boolean img_jpeg_grow(j_compress_ptr _Nonnull info) {
  struct img_jpeg_encoder *encoder = (struct img_jpeg_encoder *) info->client_data;
  const size_t used = encoder->byte_count, room = used == 0 ? 1 << 15 : 2 * used;
  uint8_t *bytes = realloc(encoder->bytes, room);
  if (bytes == NULL) ERREXIT1(info, JERR_OUT_OF_MEMORY, 0);
  encoder->bytes = bytes;
  encoder->byte_count = room;
  info->dest->next_output_byte = bytes + used;
  info->dest->free_in_buffer = room - used;
  return TRUE;
}

static inline void img_jpeg_start_growing(j_compress_ptr _Nonnull info) { img_jpeg_grow(info); }

static inline void img_jpeg_stop_growing(j_compress_ptr _Nonnull info) {
  ((struct img_jpeg_encoder *) info->client_data)->byte_count -= info->dest->free_in_buffer;
}

static inline void img_jpeg_write_groups(
    struct jpeg_compress_struct *_Nonnull info, const struct img_jpeg_plane *_Nonnull planes) {
  JSAMPROW rows[img_jpeg_plane_count_maximum][img_jpeg_group_row_count_maximum];
  JSAMPARRAY components[img_jpeg_plane_count_maximum] = {rows[0], rows[1], rows[2]};
  for (size_t group = 0; info->next_scanline < info->image_height; group += 1) {
    for (int index = 0; index < info->num_components; index += 1) {
      img_jpeg_point_to_rows(
          rows[index], planes[index], group, info->comp_info[index].v_samp_factor * DCTSIZE);
    }
    jpeg_write_raw_data(info, components, (JDIMENSION) info->max_v_samp_factor * DCTSIZE);
  }
}

/// Encodes 1 or 3 planes with the standard tables, as baseline JPEG without metadata. `encoder` consists
/// of zeros. Returns false on failure.
///
/// - chroma_width: the pixels along both sides of a sample of chroma: 1 or 2. The rows and the columns
///   of each plane are multiples of 8, and those of luma multiples of `chroma_width` * 8.
static inline bool img_jpeg_encode_planes(
    struct img_jpeg_encoder *_Nonnull encoder, const struct img_jpeg_plane *_Nonnull planes,
    int plane_count, int width, int height, int chroma_width, int quality) {
  struct jpeg_compress_struct *info = &encoder->info;
  info->err = jpeg_std_error(&encoder->errors);
  encoder->errors.error_exit = img_jpeg_encoder_fail;
  info->client_data = encoder;
  if (setjmp(encoder->failure) != 0) {
    jpeg_destroy_compress(info);
    return false;
  }
  jpeg_create_compress(info);
  encoder->destination.init_destination = img_jpeg_start_growing;
  encoder->destination.empty_output_buffer = img_jpeg_grow;
  encoder->destination.term_destination = img_jpeg_stop_growing;
  info->dest = &encoder->destination;
  info->image_width = (JDIMENSION) width;
  info->image_height = (JDIMENSION) height;
  info->input_components = plane_count;
  info->in_color_space = plane_count == 1 ? JCS_GRAYSCALE : JCS_YCbCr;
  jpeg_set_defaults(info);
  jpeg_set_quality(info, quality, TRUE);
  info->raw_data_in = TRUE;
  info->comp_info[0].h_samp_factor = chroma_width;
  info->comp_info[0].v_samp_factor = chroma_width;
  jpeg_start_compress(info, TRUE);
  img_jpeg_write_groups(info, planes);
  jpeg_finish_compress(info);
  jpeg_destroy_compress(info);
  return true;
}
