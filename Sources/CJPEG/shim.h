#pragma once
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// <jpeglib.h> uses FILE and size_t without declaring them.
#include <jpeglib.h>
#include <jerror.h>

// libjpeg reports an error with a function that must not return (libjpeg.txt, "Error handling"), so each
// call needs a setjmp() around it, which Swift does not support. This file has one function for each step
// of a decode. After a failed step, only the error of the decoder may be used.

/// The damage in a picture that can still be decoded.
struct img_jpeg_damage {
  /// The entropy-coded data of a scan is invalid: an unknown code, a marker before the last block, bytes
  /// after it, or a missing restart marker.
  bool has_bad_data;
  /// The data ends before the end-of-image marker.
  bool lacks_end;
  /// The data ends within the first row of blocks of the first scan. libjpeg makes up the rest.
  bool lacks_rows;
};

/// A decoder for one picture. img_jpeg_new() allocates it, because libjpeg keeps pointers into it.
struct img_jpeg_decoder {
  struct jpeg_decompress_struct info;
  struct jpeg_error_mgr errors;
  struct jpeg_source_mgr source;
  jmp_buf failure;
  struct img_jpeg_damage damage;
  /// The samples along a side of a block of chroma, at most, where planes are decoded.
  int chroma_block_side;
  /// libjpeg's own function, which img_jpeg_realize_arrays() calls.
  void (*_Nullable realize_arrays)(j_common_ptr _Nonnull common);
  /// Whether all scans are present.
  bool is_complete;
  /// The codes of libjpeg (jerror.h) for the error that ended a step, and for the first sign of damage.
  int error_code;
  int damage_code;
  char error_text[JMSG_LENGTH_MAX];
  char damage_text[JMSG_LENGTH_MAX];
};

enum { img_jpeg_fill_byte_count_maximum = 8 };

static inline void img_jpeg_fail(j_common_ptr _Nonnull common) {
  struct img_jpeg_decoder *decoder = (struct img_jpeg_decoder *) common->client_data;
  decoder->error_code = common->err->msg_code;
  common->err->format_message(common, decoder->error_text);
  longjmp(decoder->failure, 1);
}

/// Records warnings. Warnings about headers that most decoders ignore are not a sign of damage.
static inline void img_jpeg_note(j_common_ptr _Nonnull common, int level) {
  if (level >= 0) return;
  struct img_jpeg_decoder *decoder = (struct img_jpeg_decoder *) common->client_data;
  common->err->num_warnings += 1;
  switch (common->err->msg_code) {
    case JWRN_EXTRANEOUS_DATA:
      // Some cameras pad the data of a scan with a few bytes. A desynchronised scan leaves more.
      if (common->err->msg_parm.i[0] <= img_jpeg_fill_byte_count_maximum) return;
      decoder->damage.has_bad_data = true;
      break;
    case JWRN_JFIF_MAJOR:
    case JWRN_ADOBE_XFORM:
    case JWRN_NOT_SEQUENTIAL:
      return;
    case JWRN_JPEG_EOF:
      decoder->damage.lacks_end = true;
      break;
    case JWRN_HIT_MARKER:
      decoder->damage.has_bad_data = true;
      if (decoder->info.unread_marker == JPEG_EOI && decoder->info.input_scan_number <= 1 &&
          decoder->info.input_iMCU_row == 0) {
        decoder->damage.lacks_rows = true;
      }
      break;
    default:
      decoder->damage.has_bad_data = true;
      break;
  }
  if (decoder->damage_code != 0) return;
  decoder->damage_code = common->err->msg_code;
  common->err->format_message(common, decoder->damage_text);
}

static inline void img_jpeg_say_nothing(j_common_ptr _Nonnull common) {}

// MARK: Sources

static inline void img_jpeg_do_nothing(j_decompress_ptr _Nonnull info) {}

/// Supplies an end-of-image marker after the last byte, because the file has none.
static inline boolean img_jpeg_end_source(j_decompress_ptr _Nonnull info) {
  static const JOCTET end_of_image[2] = {0xFF, JPEG_EOI};
  WARNMS(info, JWRN_JPEG_EOF);
  info->src->next_input_byte = end_of_image;
  info->src->bytes_in_buffer = 2;
  return TRUE;
}

/// libjpeg skips data that it does not need, such as a preview in the metadata.
static inline void img_jpeg_skip(j_decompress_ptr _Nonnull info, long byte_count) {
  struct jpeg_source_mgr *source = info->src;
  if (byte_count <= 0) return;
  if ((size_t) byte_count <= source->bytes_in_buffer) {
    source->next_input_byte += byte_count;
    source->bytes_in_buffer -= (size_t) byte_count;
    return;
  }
  // The picture ends within the data.
  source->fill_input_buffer(info);
}

// MARK: Steps

/// Whether every component has all its scans. A progressive picture has several scans with the bits of
/// each coefficient; a sequential picture has one scan for each component.
static inline bool img_jpeg_is_complete(const struct jpeg_decompress_struct *_Nonnull info) {
  for (int component = 0; component < info->num_components; component += 1) {
    if (info->comp_info[component].quant_table == NULL) return false;
    if (!info->progressive_mode) continue;
    for (int coefficient = 0; coefficient < DCTSIZE2; coefficient += 1) {
      if (info->coef_bits[component][coefficient] != 0) return false;
    }
  }
  return true;
}

/// Creates a decoder; NULL if there is no memory. The caller frees it with img_jpeg_free().
static inline struct img_jpeg_decoder *_Nullable img_jpeg_new(void) {
  struct img_jpeg_decoder *decoder = calloc(1, sizeof *decoder);
  if (decoder == NULL) return NULL;
  decoder->info.err = jpeg_std_error(&decoder->errors);
  decoder->errors.error_exit = img_jpeg_fail;
  decoder->errors.emit_message = img_jpeg_note;
  decoder->errors.output_message = img_jpeg_say_nothing;
  decoder->info.client_data = decoder;
  if (setjmp(decoder->failure) != 0) {
    free(decoder);
    return NULL;
  }
  jpeg_create_decompress(&decoder->info);
  decoder->source.init_source = img_jpeg_do_nothing;
  decoder->source.skip_input_data = img_jpeg_skip;
  decoder->source.resync_to_restart = jpeg_resync_to_restart;
  decoder->source.term_source = img_jpeg_do_nothing;
  decoder->info.src = &decoder->source;
  return decoder;
}

static inline void img_jpeg_free(struct img_jpeg_decoder *_Nonnull decoder) {
  jpeg_destroy_decompress(&decoder->info);
  free(decoder);
}

/// Sets the source to bytes in memory, which must outlive the decoder.
static inline void img_jpeg_use_memory(
    struct img_jpeg_decoder *_Nonnull decoder, const uint8_t *_Nonnull bytes, size_t byte_count) {
  decoder->source.fill_input_buffer = img_jpeg_end_source;
  decoder->source.next_input_byte = bytes;
  decoder->source.bytes_in_buffer = byte_count;
}

/// Reads up to the first scan. `info` then has the size and the colour space. Returns false on failure.
static inline bool img_jpeg_read_header(struct img_jpeg_decoder *_Nonnull decoder) {
  if (setjmp(decoder->failure) != 0) return false;
  jpeg_save_markers(&decoder->info, JPEG_APP0 + 1, 0xFFFF);
  jpeg_save_markers(&decoder->info, JPEG_APP0 + 2, 0xFFFF);
  return jpeg_read_header(&decoder->info, TRUE) == JPEG_HEADER_OK;
}

/// Assembles the colour profile from its parts in the header. The caller frees `*profile`. Returns false
/// if there is no complete profile.
static inline bool img_jpeg_read_profile(
    struct img_jpeg_decoder *_Nonnull decoder, uint8_t *_Nullable *_Nonnull profile,
    unsigned *_Nonnull byte_count) {
  if (setjmp(decoder->failure) != 0) return false;
  return jpeg_read_icc_profile(&decoder->info, profile, byte_count);
}

/// Starts to decode at `eighths`/8 of the size, rounded up. `info` then has the output size and the bytes
/// of a pixel. Returns false on failure.
static inline bool img_jpeg_start(
    struct img_jpeg_decoder *_Nonnull decoder, J_COLOR_SPACE space, unsigned eighths) {
  if (setjmp(decoder->failure) != 0) return false;
  decoder->info.out_color_space = space;
  decoder->info.scale_num = eighths;
  decoder->info.scale_denom = 8;
  return jpeg_start_decompress(&decoder->info);
}

/// Decodes the rows into `pixels` without gaps, and reads to the end of the picture. Returns false on
/// failure.
///
/// - is_inverted: whether 255 means no ink, as in CMYK files of Adobe's programs.
static inline bool img_jpeg_finish(
    struct img_jpeg_decoder *_Nonnull decoder, uint8_t *_Nonnull pixels, bool is_inverted) {
  if (setjmp(decoder->failure) != 0) return false;
  struct jpeg_decompress_struct *info = &decoder->info;
  size_t row_byte_count = (size_t) info->output_width * (size_t) info->output_components;
  while (info->output_scanline < info->output_height) {
    JSAMPROW row = pixels + row_byte_count * info->output_scanline;
    jpeg_read_scanlines(info, &row, 1);
    for (size_t index = 0; is_inverted && index < row_byte_count; index += 1) {
      row[index] = 255 - row[index];
    }
  }
  decoder->is_complete = img_jpeg_is_complete(info);
  jpeg_finish_decompress(info);
  return true;
}

// Swift sees a C array as a tuple.

/// The error of a failed step.
static inline const char *_Nonnull img_jpeg_error_text(
    const struct img_jpeg_decoder *_Nonnull decoder) {
  return decoder->error_text;
}

/// The first sign of damage; empty if there is none.
static inline const char *_Nonnull img_jpeg_damage_text(
    const struct img_jpeg_decoder *_Nonnull decoder) {
  return decoder->damage_text;
}
