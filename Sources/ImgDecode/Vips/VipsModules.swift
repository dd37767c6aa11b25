import CVips

/// The parts of libvips that Debian builds as files of their own: each a loader of some formats,
/// with the libraries that those need.
///
/// libvips loads all of them when it starts. Those of formats that are not decoded, such as those
/// of ImageMagick and Poppler, cost a process some megabytes, and no picture should reach their
/// code.
struct VipsModules {
  /// Where libvips looks for everything that belongs to it, instead of where it was installed.
  private static let variable = "VIPSHOME"
  /// Those with formats that are decoded.
  private static let names = ["vips-heif", "vips-jxl"]

  private let directory: String

  /// - Returns: `nil` where they cannot be told apart: in a build of libvips that has none beside
  ///   it, and where VIPSHOME is set already.
  init?() {
    guard unsafe g_getenv(Self.variable) == nil, let library = unsafe img_vips_library_path() else {
      return nil
    }
    let path = unsafe String(cString: library)
    guard let slash = path.lastIndex(of: "/") else { return nil }
    directory = "\(path[..<slash])/vips-modules-\(vips_version(0)).\(vips_version(1))"
    guard unsafe g_file_test(directory, G_FILE_TEST_IS_DIR) != 0 else { return nil }
  }

  /// Starts libvips so that it loads none of them. Call it before the process has threads of its
  /// own: it changes the environment for a moment.
  func withheld(from start: () -> CInt) -> CInt {
    unsafe g_setenv(Self.variable, "/nonexistent", 1)
    defer { unsafe g_unsetenv(Self.variable) }
    return start()
  }

  /// Loads those with formats that are decoded. Without a missing or broken one the process still
  /// starts, and its pictures fail one by one.
  func load() {
    for name in Self.names { _ = unsafe img_vips_load_module("\(directory)/\(name).so") }
    // Later the process may be unable to load code. Of the pictures inside an SVG, only other SVGs need
    // more than GdkPixbuf itself.
    unsafe img_load_pixbuf_module("image/svg+xml")
  }
}
