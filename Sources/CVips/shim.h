#pragma once
#include <gmodule.h>
#include <vips/vips.h>

// libvips takes options as variable arguments, which Swift cannot call. One function here for each
// operation in use, named after it, with the options in use as plain parameters.

// <dlfcn.h> declares these only under _GNU_SOURCE, which a module cannot define for itself.
struct img_dl_info {
  const char *_Nullable file_name;
  void *_Nullable file_start;
  const char *_Nullable symbol_name;
  void *_Nullable symbol_start;
};
int img_dladdr(const void *_Nonnull, struct img_dl_info *_Nonnull) __asm__("dladdr");

/// Where the libvips lies that this process runs with. NULL when the loader cannot tell.
static inline const char *_Nullable img_vips_library_path(void) {
  struct img_dl_info info;
  return img_dladdr((const void *) vips_init, &info) != 0 ? info.file_name : NULL;
}

/// Loads a part of libvips for good, as libvips does with those that it finds. Whether it could.
static inline gboolean img_vips_load_module(const char *_Nonnull path) {
  GModule *module = g_module_open(path, G_MODULE_BIND_LAZY);
  if (module == NULL) return FALSE;
  g_module_make_resident(module);
  return TRUE;
}

/// Reads the header of the picture in `buffer`, which must outlive `out`, with the loader of that
/// nickname and no other. 0 on success.
static inline int img_vips_load_buffer(
    const char *_Nonnull loader, const void *_Nonnull buffer, size_t byte_count,
    VipsImage *_Nullable *_Nonnull out) {
  VipsBlob *blob = vips_blob_new(NULL, buffer, byte_count);
  int status = vips_call(loader, blob, out, "access", VIPS_ACCESS_SEQUENTIAL, NULL);
  vips_area_unref(VIPS_AREA(blob));
  return status;
}

/// Reads the header of the picture in an open file with the loader of that nickname and no other,
/// from its beginning wherever its position is. 0 on success.
static inline int img_vips_load_source(
    const char *_Nonnull loader, int descriptor, VipsImage *_Nullable *_Nonnull out) {
  VipsSource *source = vips_source_new_from_descriptor(descriptor);
  if (source == NULL) return -1;
  int status = vips_call(loader, source, out, "access", VIPS_ACCESS_SEQUENTIAL, NULL);
  VIPS_UNREF(source);
  return status;
}

/// Opens the picture in `buffer`, which must outlive the image, with whatever loader knows it. NULL
/// on failure.
static inline VipsImage *_Nullable img_vips_image_new_from_buffer(
    const void *_Nonnull buffer, size_t byte_count) {
  return vips_image_new_from_buffer(
      buffer, byte_count, "", "access", VIPS_ACCESS_SEQUENTIAL, NULL);
}

/// Decodes the first frame of the picture in `buffer`, which must outlive `out`, upright and at
/// exactly `width` x `height`; its colours stay in the space of its profile. A picture that ends
/// early fails, at the latest when its pixels are read. 0 on success.
static inline int img_vips_thumbnail_buffer(
    const void *_Nonnull buffer, size_t byte_count, int width, int height,
    VipsImage *_Nullable *_Nonnull out) {
  // "fail_on" goes to the loader by its options: libvips 8.14 overlooks the operation's own
  // parameter of that name when it reads from memory. There is no "export_profile": 8.14 shifts the
  // colours of pictures that have no profile, and refuses grey ones (libvips issues 3479, 3461).
  // The operation only reads the buffer, yet its parameter is not const.
  return vips_thumbnail_buffer(
      (void *) buffer, byte_count, out, width, "height", height, "size", VIPS_SIZE_FORCE,
      "option_string", "[fail_on=truncated]", NULL);
}

/// The same for the picture in an open file, which must not be read by others meanwhile.
static inline int img_vips_thumbnail_source(
    int descriptor, int width, int height, VipsImage *_Nullable *_Nonnull out) {
  VipsSource *source = vips_source_new_from_descriptor(descriptor);
  if (source == NULL) return -1;
  int status = vips_thumbnail_source(
      source, out, width, "height", height, "size", VIPS_SIZE_FORCE,
      "option_string", "[fail_on=truncated]", NULL);
  VIPS_UNREF(source);
  return status;
}

/// Brings an RGB picture from the profile that it carries into sRGB; a profile that does not suit
/// it counts as sRGB.
static inline int img_vips_icc_transform_to_srgb(
    VipsImage *_Nonnull in, VipsImage *_Nullable *_Nonnull out) {
  return vips_icc_transform(in, out, "srgb", "embedded", TRUE, "input_profile", "srgb", NULL);
}

static inline int img_vips_colourspace(
    VipsImage *_Nonnull in, VipsImage *_Nullable *_Nonnull out, VipsInterpretation space) {
  return vips_colourspace(in, out, space, NULL);
}

static inline int img_vips_cast_uchar(
    VipsImage *_Nonnull in, VipsImage *_Nullable *_Nonnull out) {
  return vips_cast_uchar(in, out, NULL);
}

static inline int img_vips_extract_band(
    VipsImage *_Nonnull in, VipsImage *_Nullable *_Nonnull out, int first, int count) {
  return vips_extract_band(in, out, first, "n", count, NULL);
}

static inline int img_vips_extract_area(
    VipsImage *_Nonnull in, VipsImage *_Nullable *_Nonnull out, int left, int top, int width,
    int height) {
  return vips_extract_area(in, out, left, top, width, height, NULL);
}

/// The least value of any band.
static inline int img_vips_min(VipsImage *_Nonnull in, double *_Nonnull least) {
  return vips_min(in, least, NULL);
}

/// Lays the picture on white; its last band is the transparency.
static inline int img_vips_flatten_on_white(
    VipsImage *_Nonnull in, VipsImage *_Nullable *_Nonnull out) {
  VipsArrayDouble *white = vips_array_double_newv(1, 255.0);
  int status = vips_flatten(in, out, "background", white, NULL);
  vips_area_unref(VIPS_AREA(white));
  return status;
}

/// Encodes by a file name suffix with options, such as ".jpg[Q=80,strip]". On success (0) the caller
/// frees `*buffer` with g_free().
static inline int img_vips_image_write_to_buffer(
    VipsImage *_Nonnull in, const char *_Nonnull suffix, void *_Nullable *_Nonnull buffer,
    size_t *_Nonnull byte_count) {
  return vips_image_write_to_buffer(in, suffix, buffer, byte_count, NULL);
}

static inline void img_discard_log(
    const char *domain, GLogLevelFlags level, const char *message, void *context) {
}

/// Keeps libvips' warnings about bad pictures off standard error: the reasons travel in the error
/// buffer.
static inline void img_vips_silence_warnings(void) {
  g_log_set_handler("VIPS", G_LOG_LEVEL_WARNING, img_discard_log, NULL);
}
