#pragma once
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <png.h>

// libpng reports an error with a function that must not return (libpng-manual.txt, "Modifying/Customizing
// libpng"), so the decode needs a setjmp() around it, which Swift does not support.

/// A decode of the part of a PNG that is present.
struct img_png_decoder {
  uint8_t *pixels;
  uint32_t width;
  uint32_t height;
  /// Whether each pixel has a value: its own, or that of the block of pixels that a pass gave it to.
  bool covers_picture;
  jmp_buf failure;
};

static inline void img_png_fail(png_structp _Nonnull png, png_const_charp _Nonnull text) {
  (void) text;
  struct img_png_decoder *decoder = (struct img_png_decoder *) png_get_error_ptr(png);
  longjmp(decoder->failure, 1);
}

static inline void img_png_say_nothing(png_structp _Nonnull png, png_const_charp _Nonnull text) {
  (void) png;
  (void) text;
}

/// Called once the chunks before the pixels are read: asks for samples of red, green, blue and opacity.
static inline void img_png_begin(png_structp _Nonnull png, png_infop _Nonnull info) {
  struct img_png_decoder *decoder = (struct img_png_decoder *) png_get_progressive_ptr(png);
  if (png_get_image_width(png, info) != decoder->width ||
      png_get_image_height(png, info) != decoder->height) {
    png_error(png, "another size");
  }
  png_set_expand(png);
  png_set_strip_16(png);
  png_set_gray_to_rgb(png);
  png_set_add_alpha(png, 0xFF, PNG_FILLER_AFTER);
  png_set_interlace_handling(png);
  png_read_update_info(png, info);
  if (png_get_rowbytes(png, info) != (size_t) decoder->width * 4) png_error(png, "other samples");
}

/// Called for each row of each pass. The first pass fills blocks of 8 × 8 pixels, and each further pass
/// halves a side of the blocks (PNG specification, section 8.2).
static inline void img_png_take_row(
    png_structp _Nonnull png, png_bytep _Nullable row, png_uint_32 number, int pass) {
  struct img_png_decoder *decoder = (struct img_png_decoder *) png_get_progressive_ptr(png);
  if (number >= decoder->height) return;
  if (pass > 0 || number == decoder->height - 1) decoder->covers_picture = true;
  png_progressive_combine_row(png, decoder->pixels + (size_t) number * decoder->width * 4, row);
}

/// Decodes what is present of an interlaced PNG. A pixel that is not present has the value of the nearest
/// one to its left and above that is.
///
/// - pixels: zeroed; width * height samples of red, green, blue and opacity. They may be partly written
///   if it fails.
/// - Returns whether every pixel has a value. False also for a PNG of another size and if there is no memory.
static inline bool img_png_decode_part(
    const uint8_t *_Nonnull bytes, size_t byte_count, uint8_t *_Nonnull pixels, uint32_t width,
    uint32_t height) {
  struct img_png_decoder *decoder = calloc(1, sizeof *decoder);
  if (decoder == NULL) return false;
  decoder->pixels = pixels;
  decoder->width = width;
  decoder->height = height;
  // Both are changed after setjmp() only by libpng, through these variables' addresses.
  png_structp volatile png = NULL;
  png_infop volatile info = NULL;
  if (setjmp(decoder->failure) == 0) {
    png = png_create_read_struct(PNG_LIBPNG_VER_STRING, decoder, img_png_fail, img_png_say_nothing);
    if (png != NULL) info = png_create_info_struct(png);
    if (info != NULL) {
      png_set_progressive_read_fn(png, decoder, img_png_begin, img_png_take_row, NULL);
      png_process_data(png, info, (png_bytep) bytes, byte_count);
    }
  }
  // An error behind the first pass is damage that the final decode reports.
  bool covers_picture = decoder->covers_picture;
  png_structp made_png = png;
  png_infop made_info = info;
  png_destroy_read_struct(&made_png, &made_info, NULL);
  free(decoder);
  return covers_picture;
}

/// A read of a whole PNG for what is wrong with it.
struct img_png_check {
  bool reads_pixels;
  bool has_ended;
  char *text;
  size_t text_size;
  jmp_buf failure;
};

static inline void img_png_note(struct img_png_check *_Nonnull check, const char *_Nonnull text) {
  strncpy(check->text, text, check->text_size - 1);
}

static inline void img_png_note_fault(png_structp _Nonnull png, png_const_charp _Nonnull text) {
  struct img_png_check *check = (struct img_png_check *) png_get_error_ptr(png);
  img_png_note(check, text);
  longjmp(check->failure, 1);
}

static inline void img_png_check_pixels(png_structp _Nonnull png, png_infop _Nonnull info) {
  struct img_png_check *check = (struct img_png_check *) png_get_progressive_ptr(png);
  if (!check->reads_pixels) longjmp(check->failure, 1);
  png_read_update_info(png, info);
}

static inline void img_png_check_end(png_structp _Nonnull png, png_infop _Nonnull info) {
  (void) info;
  ((struct img_png_check *) png_get_progressive_ptr(png))->has_ended = true;
}

/// What libpng says of a damaged PNG.
///
/// - reads_pixels: whether the pixels are looked at, too.
/// - text: zeroed.
/// - Returns whether it says anything.
static inline bool img_png_find_fault(
    const uint8_t *_Nonnull bytes, size_t byte_count, bool reads_pixels, char *_Nonnull text,
    size_t text_size) {
  struct img_png_check *check = calloc(1, sizeof *check);
  if (check == NULL) return false;
  check->reads_pixels = reads_pixels;
  check->text = text;
  check->text_size = text_size;
  // Both are changed after setjmp() only by libpng, through these variables' addresses.
  png_structp volatile png = NULL;
  png_infop volatile info = NULL;
  if (setjmp(check->failure) == 0) {
    png = png_create_read_struct(
        PNG_LIBPNG_VER_STRING, check, img_png_note_fault, img_png_say_nothing);
    if (png != NULL) info = png_create_info_struct(png);
    if (info != NULL) {
      png_set_progressive_read_fn(png, check, img_png_check_pixels, NULL, img_png_check_end);
      png_process_data(png, info, (png_bytep) bytes, byte_count);
      if (!check->has_ended) img_png_note(check, "the file ends before its last chunk");
    }
  }
  png_structp made_png = png;
  png_infop made_info = info;
  png_destroy_read_struct(&made_png, &made_info, NULL);
  free(check);
  return text[0] != 0;
}
