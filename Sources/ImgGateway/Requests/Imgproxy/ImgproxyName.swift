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

  /// The arguments that switch an option off.
  struct OffArguments {
    /// Of the first arguments. With them off, later ones have no meaning.
    private let leading: [Set<String>]

    fileprivate init(_ texts: Set<String>, count: Int = 1) {
      leading = Array(repeating: texts, count: count)
    }

    /// Whether all of them are there, as far as any are.
    func contains(_ arguments: [String]) -> Bool {
      zip(leading, arguments).allSatisfy { $0.contains($1) }
    }
  }

  /// Options of imgproxy that this server does not have. An option that is off is accepted: the picture is the
  /// same.
  static let unsupportedNames: [String: OffArguments] = {
    let off: Set<String> = ["", "0", "f", "false"]
    let empty = OffArguments([""])
    let rows: [(names: [String], off: OffArguments)] = [
      (["extend", "ex", "extend_aspect_ratio", "extend_ar", "exar"], OffArguments(off)),
      (["min-width", "mw", "min-height", "mh", "watermark", "wm"], OffArguments(off)),
      (["crop", "c"], OffArguments(off, count: 2)),
      (["padding", "pd"], OffArguments(off, count: 4)),
      (["rotate", "rot", "raw", "enforce_thumbnail", "eth"], OffArguments(off)),
      (["flip", "fl"], OffArguments(off, count: 2)), (["preserve_hdr", "ph"], OffArguments(off)),
      (["max_bytes", "mb", "dpi", "pixelate", "pix"], OffArguments(off)),
      (["zoom", "z"], OffArguments(["", "1"], count: 2)),
      (["pages", "pgs"], OffArguments(["", "1"])),
      (["trim", "t", "skip_processing", "skp", "format_quality", "fq"], empty),
      (["crop_aspect_ratio", "crop_ar", "car", "resizing_algorithm", "ra"], empty),
      (["objects_position", "obj_pos", "op", "background_alpha", "bga", "adjust", "a"], empty),
      (["brightness", "br", "contrast", "co", "saturation", "sa", "monochrome", "mc"], empty),
      (["duotone", "dt", "unsharp_masking", "ush", "blur_detections", "bd"], empty),
      (["draw_detections", "dd", "colorize", "col", "gradient", "gr", "style", "st"], empty),
      (["watermark_url", "wmu", "watermark_text", "wmt", "watermark_size", "wms"], empty),
      (["watermark_rotate", "wm_rot", "wmr", "watermark_shadow", "wmsh"], empty),
      (["autoquality", "aq", "jpeg_options", "jpgo", "png_options", "pngo"], empty),
      (["webp_options", "webpo", "video_thumbnail_second", "vts"], empty),
      (["video_thumbnail_keyframes", "vtk", "video_thumbnail_tile", "vtt"], empty),
      (["video_thumbnail_animation", "vta", "hashsum", "hs"], empty),
      (["max_src_resolution", "msr", "max_src_file_size", "msfs", "max_animation_frames"], empty),
      (["maf", "max_animation_frame_resolution", "mafr", "max_result_dimension", "mrd"], empty),
    ]
    return rows.reduce(into: [:]) { table, row in
      for name in row.names { table[name] = row.off }
    }
  }()
}
