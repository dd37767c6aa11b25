#pragma once
#include <gmodule.h>
#include <stdint.h>
#include <vips/vips.h>
// Not a part of vips.h.
#include <vips/vector.h>

// libvips takes options as variadic arguments, which Swift cannot pass. This file has one function for
// each operation in use, named after it. The options in use are plain parameters.

// <dlfcn.h> declares these only under _GNU_SOURCE, which a module cannot define.
struct img_dl_info {
  const char *_Nullable file_name;
  void *_Nullable file_start;
  const char *_Nullable symbol_name;
  void *_Nullable symbol_start;
};
int img_dladdr(const void *_Nonnull, struct img_dl_info *_Nonnull) __asm__("dladdr");

/// The path of the libvips that this process uses; NULL if the dynamic loader does not know it.
static inline const char *_Nullable img_vips_library_path(void) {
  struct img_dl_info info;
  return img_dladdr((const void *) vips_init, &info) != 0 ? info.file_name : NULL;
}

/// Loads a libvips module permanently, like libvips does with the modules that it finds. Returns whether
/// it succeeded.
static inline gboolean img_vips_load_module(const char *_Nonnull path) {
  GModule *module = g_module_open(path, G_MODULE_BIND_LAZY);
  if (module == NULL) return FALSE;
  g_module_make_resident(module);
  return TRUE;
}

/// Makes GdkPixbuf load its module for a media type now instead of on first use. librsvg asks GdkPixbuf for
/// pictures inside an SVG. Does nothing where libvips has no librsvg.
static inline void img_load_pixbuf_module(const char *_Nonnull media_type) {
  typedef GObject *(*New)(const char *, GError **);
  typedef gboolean (*Close)(GObject *, GError **);
  gpointer new_loader = NULL, close_loader = NULL;
  GModule *program = g_module_open(NULL, G_MODULE_BIND_LAZY);
  if (program == NULL) return;
  if (g_module_symbol(program, "gdk_pixbuf_loader_new_with_mime_type", &new_loader) &&
      g_module_symbol(program, "gdk_pixbuf_loader_close", &close_loader)) {
    GObject *loader = ((New) new_loader)(media_type, NULL);
    if (loader != NULL) {
      ((Close) close_loader)(loader, NULL);
      g_object_unref(loader);
    }
  }
  g_module_close(program);
}

/// Makes fontconfig read its configuration and its caches now instead of for the first text. Does nothing
/// where libvips has no librsvg.
static inline void img_start_fontconfig(void) {
  typedef int (*Init)(void);
  gpointer init = NULL;
  GModule *program = g_module_open(NULL, G_MODULE_BIND_LAZY);
  if (program == NULL) return;
  if (g_module_symbol(program, "FcInit", &init)) ((Init) init)();
  g_module_close(program);
}

/// The options of a loader. A scale of 0 selects the loader's default.
struct img_vips_load_options {
  VipsFailOn fail_on;
  /// The scale during the load. Only the loaders of WebP and SVG support it.
  double scale;
  /// Whether to load the embedded preview instead of the picture. Only the loader of HEIF and AVIF
  /// supports it, and it loads the picture if there is no preview.
  gboolean thumbnail;
  /// The first page, and how many to load below each other; -1 for all that follow. Only the loaders of
  /// formats with frames or pages support them.
  int page;
  int page_count;
  /// Four letters, the first uppermost, that the loader sees as the major brand of an ISO base media file;
  /// 0 for the file's own.
  uint32_t major_brand;
};

/// Calls a loader of pictures in memory.
static inline int img_vips_load(
    const char *_Nonnull loader, VipsBlob *_Nonnull input, struct img_vips_load_options options,
    VipsImage *_Nullable *_Nonnull out) {
  if (options.scale != 0) {
    return vips_call(
        loader, input, out, "access", VIPS_ACCESS_SEQUENTIAL, "fail_on", options.fail_on, "scale",
        options.scale, NULL);
  }
  if (options.thumbnail) {
    return vips_call(
        loader, input, out, "access", VIPS_ACCESS_SEQUENTIAL, "fail_on", options.fail_on,
        "thumbnail", TRUE, NULL);
  }
  if (options.page != 0 || options.page_count != 1) {
    return vips_call(
        loader, input, out, "access", VIPS_ACCESS_SEQUENTIAL, "fail_on", options.fail_on, "page",
        options.page, "n", options.page_count, NULL);
  }
  return vips_call(
      loader, input, out, "access", VIPS_ACCESS_SEQUENTIAL, "fail_on", options.fail_on, NULL);
}

enum { img_major_brand_offset = 8, img_major_brand_byte_count = 4 };

/// A copy of a file with another major brand. Returns NULL if there is no memory.
static inline VipsBlob *_Nullable img_vips_blob_with_brand(
    const void *_Nonnull buffer, size_t byte_count, uint32_t brand) {
  VipsBlob *blob = vips_blob_copy(buffer, byte_count);
  if (blob == NULL || byte_count < img_major_brand_offset + img_major_brand_byte_count) return blob;
  uint8_t *letters = (uint8_t *) VIPS_AREA(blob)->data + img_major_brand_offset;
  for (int index = 0; index < img_major_brand_byte_count; index += 1) {
    letters[index] = (uint8_t) (brand >> (24 - 8 * index));
  }
  return blob;
}

/// Opens frames of the picture in `buffer` with the loader of this nickname and no other. `buffer` must
/// outlive `out`. Reads the header now and the pixels on demand. Returns 0 on success.
static inline int img_vips_load_buffer(
    const char *_Nonnull loader, const void *_Nonnull buffer, size_t byte_count,
    struct img_vips_load_options options, VipsImage *_Nullable *_Nonnull out) {
  VipsBlob *blob = options.major_brand == 0
      ? vips_blob_new(NULL, buffer, byte_count)
      : img_vips_blob_with_brand(buffer, byte_count, options.major_brand);
  if (blob == NULL) return -1;
  int status = img_vips_load(loader, blob, options, out);
  vips_area_unref(VIPS_AREA(blob));
  return status;
}

/// Creates an image in memory with uninitialised samples. The caller writes them at img_vips_pixels().
/// Returns NULL if there is no memory.
static inline VipsImage *_Nullable img_vips_new_pixels(
    int width, int height, int bands, VipsBandFormat format, VipsInterpretation interpretation) {
  VipsImage *image = vips_image_new_memory();
  vips_image_init_fields(
      image, width, height, bands, format, VIPS_CODING_NONE, interpretation, 1.0, 1.0);
  if (vips_image_write_prepare(image) == 0) return image;
  g_object_unref(image);
  return NULL;
}

/// Creates an image in memory like `in` but for its size, with uninitialised samples. Returns NULL if there
/// is no memory.
static inline VipsImage *_Nullable img_vips_new_like(
    VipsImage *_Nonnull in, int width, int height) {
  VipsImage *image = vips_image_new_memory();
  if (vips_image_pipelinev(image, VIPS_DEMAND_STYLE_ANY, in, NULL) == 0) {
    image->Xsize = width;
    image->Ysize = height;
    if (vips_image_write_prepare(image) == 0) return image;
  }
  g_object_unref(image);
  return NULL;
}

/// Copies an image in memory to memory of its own. Returns NULL if there is no memory.
static inline VipsImage *_Nullable img_vips_duplicate(VipsImage *_Nonnull in) {
  VipsImage *out = img_vips_new_like(in, in->Xsize, in->Ysize);
  if (out != NULL) memcpy(out->data, in->data, VIPS_IMAGE_SIZEOF_IMAGE(in));
  return out;
}

enum { img_vips_row_count_at_once = 16 };

/// Computes all samples of an image into memory, in this thread; vips_image_copy_memory() gives them to
/// other threads and waits. An image that is in memory gets one more reference. Returns NULL on failure.
static inline VipsImage *_Nullable img_vips_copy_memory(VipsImage *_Nonnull in) {
  if (in->dtype != VIPS_IMAGE_PARTIAL) return vips_image_copy_memory(in);
  VipsImage *out = img_vips_new_like(in, in->Xsize, in->Ysize);
  if (out == NULL) return NULL;
  VipsRegion *region = vips_region_new(in);
  VipsRect rows = {0, 0, in->Xsize, img_vips_row_count_at_once};
  for (; region != NULL && rows.top < in->Ysize; rows.top += rows.height) {
    rows.height = VIPS_MIN(rows.height, in->Ysize - rows.top);
    if (vips_region_prepare(region, &rows) != 0) break;
    for (int row = rows.top; row < rows.top + rows.height; row += 1) {
      memcpy(
          VIPS_IMAGE_ADDR(out, 0, row), VIPS_REGION_ADDR(region, 0, row),
          VIPS_IMAGE_SIZEOF_LINE(out));
    }
  }
  if (region != NULL) g_object_unref(region);
  if (rows.top >= in->Ysize) return out;
  g_object_unref(out);
  return NULL;
}

/// Whether the samples are in memory, 8 bits each.
static inline gboolean img_vips_has_bytes_in_memory(VipsImage *_Nonnull image) {
  return image->dtype == VIPS_IMAGE_SETBUF && image->BandFmt == VIPS_FORMAT_UCHAR &&
      image->Coding == VIPS_CODING_NONE;
}

/// The first sample of an image in memory. There are no gaps between the rows.
static inline uint8_t *_Nonnull img_vips_pixels(VipsImage *_Nonnull image) {
  return VIPS_IMAGE_ADDR(image, 0, 0);
}

/// Whether all pixels of an image in memory are equal.
static inline gboolean img_vips_is_uniform(VipsImage *_Nonnull image) {
  const uint8_t *pixels = img_vips_pixels(image);
  size_t pixel_byte_count = VIPS_IMAGE_SIZEOF_PEL(image);
  return memcmp(
      pixels, pixels + pixel_byte_count, VIPS_IMAGE_SIZEOF_IMAGE(image) - pixel_byte_count) == 0;
}

/// Decodes row after row, and returns how many there are before the first that fails. Returns -1 if there
/// is no memory.
static inline int img_vips_decodable_row_count(VipsImage *_Nonnull image) {
  VipsRegion *region = vips_region_new(image);
  if (region == NULL) return -1;
  int count = 0;
  while (count < vips_image_get_height(image)) {
    VipsRect row = {0, count, vips_image_get_width(image), 1};
    if (vips_region_prepare(region, &row) != 0) break;
    count += 1;
  }
  g_object_unref(region);
  return count;
}

/// Opens the picture in `buffer` with any loader that supports it. `buffer` must outlive the image.
/// Returns NULL on failure.
static inline VipsImage *_Nullable img_vips_image_new_from_buffer(
    const void *_Nonnull buffer, size_t byte_count) {
  return vips_image_new_from_buffer(
      buffer, byte_count, "", "access", VIPS_ACCESS_SEQUENTIAL, NULL);
}

/// Scales by about `horizontal` and `vertical` with the Lanczos kernel.
static inline int img_vips_resize(
    VipsImage *_Nonnull in, VipsImage *_Nullable *_Nonnull out, double horizontal,
    double vertical) {
  return vips_resize(in, out, horizontal, "vscale", vertical, NULL);
}

static inline int img_vips_premultiply(
    VipsImage *_Nonnull in, VipsImage *_Nullable *_Nonnull out, double opaque) {
  return vips_premultiply(in, out, "max_alpha", opaque, NULL);
}

static inline int img_vips_unpremultiply(
    VipsImage *_Nonnull in, VipsImage *_Nullable *_Nonnull out, double opaque) {
  return vips_unpremultiply(in, out, "max_alpha", opaque, NULL);
}

/// Rotates and mirrors the image according to its orientation. The image must be in memory.
static inline int img_vips_autorot(VipsImage *_Nonnull in, VipsImage *_Nullable *_Nonnull out) {
  return vips_autorot(in, out, NULL);
}

/// Converts an image from its embedded profile to sRGB of 8 or 16 bits.
static inline int img_vips_icc_transform_to_srgb(
    VipsImage *_Nonnull in, VipsImage *_Nullable *_Nonnull out, VipsIntent intent, int depth) {
  return vips_icc_transform(
      in, out, "srgb", "embedded", TRUE, "intent", intent, "depth", depth, NULL);
}

/// `in` x `factor` + `offset`, in floating point.
static inline int img_vips_linear(
    VipsImage *_Nonnull in, VipsImage *_Nullable *_Nonnull out, double factor, double offset) {
  return vips_linear1(in, out, factor, offset, NULL);
}

/// Places the image on a transparent image of `width` x `height`, whose pixels are all 0.
static inline int img_vips_embed(
    VipsImage *_Nonnull in, VipsImage *_Nullable *_Nonnull out, int x, int y, int width,
    int height) {
  return vips_embed(in, out, x, y, width, height, "extend", VIPS_EXTEND_BLACK, NULL);
}

/// Adds an opaque alpha channel.
static inline int img_vips_addalpha(VipsImage *_Nonnull in, VipsImage *_Nullable *_Nonnull out) {
  return vips_addalpha(in, out, NULL);
}

static inline int img_vips_cast(
    VipsImage *_Nonnull in, VipsImage *_Nullable *_Nonnull out, VipsBandFormat format) {
  return vips_cast(in, out, format, NULL);
}

static inline int img_vips_colourspace(
    VipsImage *_Nonnull in, VipsImage *_Nullable *_Nonnull out, VipsInterpretation space) {
  return vips_colourspace(in, out, space, NULL);
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

static inline int img_vips_bandjoin(
    VipsImage *_Nonnull first, VipsImage *_Nonnull second, VipsImage *_Nullable *_Nonnull out) {
  return vips_bandjoin2(first, second, out, NULL);
}

/// Keeps the upper 8 of 16 bits of every band, including transparency.
static inline int img_vips_upper_byte(
    VipsImage *_Nonnull in, VipsImage *_Nullable *_Nonnull out) {
  int status = vips_cast(in, out, VIPS_FORMAT_UCHAR, "shift", TRUE, NULL);
  if (status != 0) return status;
  // The image is new and has no other references, so it may be modified.
  if ((*out)->Type == VIPS_INTERPRETATION_RGB16) (*out)->Type = VIPS_INTERPRETATION_sRGB;
  if ((*out)->Type == VIPS_INTERPRETATION_GREY16) (*out)->Type = VIPS_INTERPRETATION_B_W;
  return 0;
}

/// 16 bits a sample: what goes from `low` to `high` goes from 0 to 65,535. Samples are those of gray, light or
/// ink.
static inline int img_vips_in_words(
    VipsImage *_Nonnull in, VipsImage *_Nullable *_Nonnull out, double low, double high) {
  const double factor = 65535 / (high - low);
  VipsImage *stretched = NULL;
  if (vips_linear1(in, &stretched, factor, -low * factor, NULL) != 0) return -1;
  int status = vips_cast(stretched, out, VIPS_FORMAT_USHORT, NULL);
  g_object_unref(stretched);
  if (status != 0) return status;
  // The image is new and has no other references, so it may be modified.
  if ((*out)->Type != VIPS_INTERPRETATION_CMYK) {
    (*out)->Type = (*out)->Bands < 3 ? VIPS_INTERPRETATION_GREY16 : VIPS_INTERPRETATION_RGB16;
  }
  return 0;
}

/// Maps every sample to the one that `table` has for it, and says what the results are.
static inline int img_vips_map(
    VipsImage *_Nonnull in, VipsImage *_Nullable *_Nonnull out, const void *_Nonnull table,
    int count, VipsBandFormat format, VipsInterpretation interpretation) {
  size_t byte_count = (size_t)count * (format == VIPS_FORMAT_USHORT ? 2 : 1);
  VipsImage *row = vips_image_new_from_memory_copy(table, byte_count, count, 1, 1, format);
  if (row == NULL) return -1;
  VipsImage *mapped = NULL;
  int status = vips_maplut(in, &mapped, row, NULL);
  g_object_unref(row);
  if (status != 0) return status;
  status = vips_copy(mapped, out, "interpretation", interpretation, NULL);
  g_object_unref(mapped);
  return status;
}

static inline int img_vips_map_to_bytes(
    VipsImage *_Nonnull in, VipsImage *_Nullable *_Nonnull out, const uint8_t *_Nonnull table,
    int count, VipsInterpretation interpretation) {
  return img_vips_map(in, out, table, count, VIPS_FORMAT_UCHAR, interpretation);
}

static inline int img_vips_map_to_shorts(
    VipsImage *_Nonnull in, VipsImage *_Nullable *_Nonnull out, const uint16_t *_Nonnull table,
    int count, VipsInterpretation interpretation) {
  return img_vips_map(in, out, table, count, VIPS_FORMAT_USHORT, interpretation);
}

/// Flattens the image on a colour. Its last band is the alpha channel; one band before it is a gray, which
/// becomes the luminance of the colour.
static inline int img_vips_flatten(
    VipsImage *_Nonnull in, VipsImage *_Nullable *_Nonnull out, double red, double green,
    double blue) {
  VipsArrayDouble *colour = vips_image_get_bands(in) < 4
      ? vips_array_double_newv(1, 0.2126 * red + 0.7152 * green + 0.0722 * blue)
      : vips_array_double_newv(3, red, green, blue);
  int status = vips_flatten(in, out, "background", colour, NULL);
  vips_area_unref(VIPS_AREA(colour));
  return status;
}

static inline int img_vips_gaussblur(
    VipsImage *_Nonnull in, VipsImage *_Nullable *_Nonnull out, double sigma) {
  return vips_gaussblur(in, out, sigma, NULL);
}

static inline int img_vips_sharpen(
    VipsImage *_Nonnull in, VipsImage *_Nullable *_Nonnull out, double sigma, double flat,
    double jagged) {
  return vips_sharpen(in, out, "sigma", sigma, "m1", flat, "m2", jagged, NULL);
}

static inline int img_vips_smartcrop(
    VipsImage *_Nonnull in, VipsImage *_Nullable *_Nonnull out, int width, int height,
    VipsInteresting interesting) {
  return vips_smartcrop(in, out, width, height, "interesting", interesting, NULL);
}

static inline int img_vips_copy(VipsImage *_Nonnull in, VipsImage *_Nullable *_Nonnull out) {
  return vips_copy(in, out, NULL);
}

/// Copies the metadata whose names begin with `prefix`.
static inline void img_vips_copy_fields(
    VipsImage *_Nonnull from, VipsImage *_Nonnull to, const char *_Nonnull prefix) {
  gchar **names = vips_image_get_fields(from);
  for (gchar **name = names; *name != NULL; name += 1) {
    GValue value = G_VALUE_INIT;
    if (!g_str_has_prefix(*name, prefix) || vips_image_get(from, *name, &value) != 0) continue;
    vips_image_set(to, *name, &value);
    g_value_unset(&value);
  }
  g_strfreev(names);
}

/// Removes the metadata whose names begin with `prefix`.
static inline void img_vips_remove_fields(VipsImage *_Nonnull image, const char *_Nonnull prefix) {
  gchar **names = vips_image_get_fields(image);
  for (gchar **name = names; *name != NULL; name += 1) {
    if (g_str_has_prefix(*name, prefix)) vips_image_remove(image, *name);
  }
  g_strfreev(names);
}

/// Encodes in the format of a file name suffix with options, such as ".jpg[Q=80,strip]". On success (0)
/// the caller frees `*buffer` with g_free().
static inline int img_vips_image_write_to_buffer(
    VipsImage *_Nonnull in, const char *_Nonnull suffix, void *_Nullable *_Nonnull buffer,
    size_t *_Nonnull byte_count) {
  return vips_image_write_to_buffer(in, suffix, buffer, byte_count, NULL);
}

static inline void img_discard_log(
    const char *domain, GLogLevelFlags level, const char *message, void *context) {
}

/// Keeps libvips' warnings about bad pictures off standard error. The error buffer has the reasons.
static inline void img_vips_silence_warnings(void) {
  g_log_set_handler("VIPS", G_LOG_LEVEL_WARNING, img_discard_log, NULL);
}
