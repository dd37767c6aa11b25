/// The options of imgproxy's paths that this server has.
enum ImgproxyName: String, CaseIterable {
  case resize, size, width, height, dpr, enlarge, gravity, quality, format
  case resizingType = "resizing_type"
  case blur, sharpen, background, page
  case stripMetadata = "strip_metadata"
  case stripColourProfile = "strip_color_profile"
  case keepCopyright = "keep_copyright"
  case autoRotate = "auto_rotate"
  case disableAnimation = "disable_animation"
  case expires, cachebuster, preset, filename
  case returnAttachment = "return_attachment"
  case fallbackImageURL = "fallback_image_url"

  /// - Parameter name: as in a path; the short names count.
  init?(name: String) {
    self.init(rawValue: Self.shortNames[name] ?? name)
  }

  private static let shortNames = [
    "rs": "resize", "s": "size", "rt": "resizing_type", "w": "width", "h": "height",
    "el": "enlarge", "g": "gravity", "q": "quality", "f": "format", "ext": "format", "bl": "blur",
    "sh": "sharpen", "bg": "background", "pg": "page", "sm": "strip_metadata",
    "scp": "strip_color_profile", "kcr": "keep_copyright", "ar": "auto_rotate",
    "da": "disable_animation", "exp": "expires", "cb": "cachebuster", "pr": "preset",
    "fn": "filename", "att": "return_attachment", "fiu": "fallback_image_url",
  ]

  /// All names, also the short ones.
  static let names = allCases.map(\.rawValue) + shortNames.keys.sorted()

  /// Options of imgproxy that this server does not have, with the arguments that switch them off. Those
  /// are accepted: the picture is the same.
  static let unsupportedNames: [String: Set<String>] = {
    let off: Set<String> = ["", "0", "f", "false"]
    let names: [(names: [String], off: Set<String>)] = [
      (["extend", "ex", "extend_aspect_ratio", "extend_ar", "exar"], off),
      (["min-width", "mw", "min-height", "mh", "padding", "pd", "crop", "c"], off),
      (["rotate", "rot", "flip", "fl", "raw", "enforce_thumbnail", "eth"], off),
      (["watermark", "wm", "max_bytes", "mb", "dpi", "pixelate", "pix"], off),
      (["zoom", "z", "pages", "pgs"], ["", "1"]),
      (["trim", "t", "skip_processing", "skp", "format_quality", "fq"], []),
      (["crop_aspect_ratio", "crop_ar", "car", "resizing_algorithm", "ra"], []),
      (["objects_position", "obj_pos", "op", "background_alpha", "bga", "adjust", "a"], []),
      (["brightness", "br", "contrast", "co", "saturation", "sa", "monochrome", "mc"], []),
      (["duotone", "dt", "unsharp_masking", "ush", "blur_detections", "bd"], []),
      (["draw_detections", "dd", "colorize", "col", "gradient", "gr", "style", "st"], []),
      (["watermark_url", "wmu", "watermark_text", "wmt", "watermark_size", "wms"], []),
      (["watermark_rotate", "wm_rot", "wmr", "watermark_shadow", "wmsh"], []),
      (["autoquality", "aq", "jpeg_options", "jpgo", "png_options", "pngo"], []),
      (["webp_options", "webpo", "video_thumbnail_second", "vts"], []),
      (["video_thumbnail_keyframes", "vtk", "video_thumbnail_tile", "vtt"], []),
      (["video_thumbnail_animation", "vta", "hashsum", "hs"], []),
      (["max_src_resolution", "msr", "max_src_file_size", "msfs", "max_animation_frames"], []),
      (["maf", "max_animation_frame_resolution", "mafr", "max_result_dimension", "mrd"], []),
    ]
    return names.reduce(into: [:]) { table, row in
      for name in row.names { table[name] = row.off }
    }
  }()
}
