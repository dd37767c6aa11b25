import CVips

/// The parts of libvips that lie in files of their own, as Debian builds it: each a loader of some
/// formats, with the libraries that those need.
///
/// libvips loads all there are when it starts. Those of formats that are not taken, among them the
/// ones of ImageMagick and Poppler, cost a process some megabytes, and are code that no picture
/// should ever meet.
struct VipsModules {
  /// Where libvips looks for everything that belongs to it, instead of where it was installed.
  private static let place = "VIPSHOME"
  /// Those with formats that are taken.
  private static let names = ["vips-heif", "vips-jxl"]

  private let directory: String

  /// - Returns: `nil` where they cannot be told apart: in a build of libvips that has none beside it,
  ///   or that somebody has told where to look.
  init?() {
    guard unsafe g_getenv(Self.place) == nil, let library = unsafe img_vips_library_path() else {
      return nil
    }
    let path = unsafe String(cString: library)
    guard let slash = path.lastIndex(of: "/") else { return nil }
    directory = "\(path[..<slash])/vips-modules-\(vips_version(0)).\(vips_version(1))"
    guard unsafe g_file_test(directory, G_FILE_TEST_IS_DIR) != 0 else { return nil }
  }

  /// Starts libvips in a way that it loads none of them. To be called before the process has threads
  /// of its own, as it changes the environment for a moment.
  func withheld(from start: () -> CInt) -> CInt {
    unsafe g_setenv(Self.place, "/nonexistent", 1)
    defer { unsafe g_unsetenv(Self.place) }
    return start()
  }

  /// Loads those with formats that are taken. One that is missing or broken is no reason not to
  /// start: its pictures fail one by one.
  func load() {
    for name in Self.names { _ = unsafe img_vips_load_module("\(directory)/\(name).so") }
  }
}
