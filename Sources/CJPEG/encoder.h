#pragma once
#include "planes.h"

// Thumbnails as baseline JPEG with the standard tables and without metadata.

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

/// What all pictures have in common. A failure ends in img_jpeg_encoder_fail().
///
/// - chroma_width: the pixels along both sides of a sample of chroma: 1 or 2.
static inline void img_jpeg_create_encoder(
    struct img_jpeg_encoder *_Nonnull encoder, int width, int height, int component_count,
    J_COLOR_SPACE colours, int chroma_width, int quality) {
  struct jpeg_compress_struct *info = &encoder->info;
  jpeg_create_compress(info);
  encoder->destination.init_destination = img_jpeg_start_growing;
  encoder->destination.empty_output_buffer = img_jpeg_grow;
  encoder->destination.term_destination = img_jpeg_stop_growing;
  info->dest = &encoder->destination;
  info->image_width = (JDIMENSION) width;
  info->image_height = (JDIMENSION) height;
  info->input_components = component_count;
  info->in_color_space = component_count == 1 ? JCS_GRAYSCALE : colours;
  jpeg_set_defaults(info);
  jpeg_set_quality(info, quality, TRUE);
  info->comp_info[0].h_samp_factor = chroma_width;
  info->comp_info[0].v_samp_factor = chroma_width;
}

/// Prepares for failures before the setjmp() of a function that encodes.
static inline void img_jpeg_expect_failures(struct img_jpeg_encoder *_Nonnull encoder) {
  encoder->info.err = jpeg_std_error(&encoder->errors);
  encoder->errors.error_exit = img_jpeg_encoder_fail;
  encoder->info.client_data = encoder;
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

/// Encodes 1 or 3 planes of luma and chroma. `encoder` consists of zeros. Returns false on failure.
///
/// - chroma_width: the pixels along both sides of a sample of chroma: 1 or 2. The rows and the columns
///   of each plane are multiples of 8, and those of luma multiples of `chroma_width` * 8.
static inline bool img_jpeg_encode_planes(
    struct img_jpeg_encoder *_Nonnull encoder, const struct img_jpeg_plane *_Nonnull planes,
    int plane_count, int width, int height, int chroma_width, int quality) {
  struct jpeg_compress_struct *info = &encoder->info;
  img_jpeg_expect_failures(encoder);
  if (setjmp(encoder->failure) != 0) {
    jpeg_destroy_compress(info);
    return false;
  }
  img_jpeg_create_encoder(
      encoder, width, height, plane_count, JCS_YCbCr, chroma_width, quality);
  info->raw_data_in = TRUE;
  jpeg_start_compress(info, TRUE);
  img_jpeg_write_groups(info, planes);
  jpeg_finish_compress(info);
  jpeg_destroy_compress(info);
  return true;
}

/// Encodes pixels of sRGB, 3 samples each, without gaps between the rows. `encoder` consists of zeros.
/// Returns false on failure.
///
/// - chroma_width: the pixels along both sides of a sample of chroma: 1 or 2.
static inline bool img_jpeg_encode_pixels(
    struct img_jpeg_encoder *_Nonnull encoder, const uint8_t *_Nonnull pixels, int width,
    int height, int chroma_width, int quality) {
  struct jpeg_compress_struct *info = &encoder->info;
  img_jpeg_expect_failures(encoder);
  if (setjmp(encoder->failure) != 0) {
    jpeg_destroy_compress(info);
    return false;
  }
  img_jpeg_create_encoder(encoder, width, height, 3, JCS_RGB, chroma_width, quality);
  jpeg_start_compress(info, TRUE);
  const size_t row_byte_count = (size_t) width * 3;
  while (info->next_scanline < info->image_height) {
    // libjpeg reads them only.
    JSAMPROW row = (JSAMPROW) pixels + info->next_scanline * row_byte_count;
    jpeg_write_scanlines(info, &row, 1);
  }
  jpeg_finish_compress(info);
  jpeg_destroy_compress(info);
  return true;
}
