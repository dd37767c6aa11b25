import FoundationEssentials

/// What the user asks for.
struct Options {
  struct UsageError: Error, CustomStringConvertible {
    let description: String
  }

  private static let usage = "usage: terminal-gallery [--sixel | --kitty] [DIRECTORY] [< URLS]"
  private static let extensions: Set = [
    "jpg", "jpeg", "png", "webp", "gif", "tif", "tiff", "heic", "avif", "jxl", "svg", "bmp", "ico",
    "pbm", "pgm", "pnm", "ppm",
  ]

  private(set) var output = Output.halfBlocks
  private var directory: String?

  init(_ arguments: some Sequence<String>) throws {
    for argument in arguments {
      switch argument {
      case "--sixel": output = .sixel
      case "--kitty": output = .kitty
      case _ where argument.hasPrefix("-") || directory != nil:
        throw UsageError(description: Self.usage)
      default: directory = argument
      }
    }
  }

  /// The files of the directory, or the lines of standard input.
  func pictures() throws -> [Picture] {
    guard let directory else {
      var pictures: [Picture] = []
      while let line = readLine() {
        if !line.isEmpty { pictures.append(Picture(url: line)) }
      }
      return pictures
    }
    let place = URL(filePath: directory, directoryHint: .isDirectory).absoluteURL
    guard let names = try? FileManager.default.contentsOfDirectory(atPath: directory) else {
      throw UsageError(description: "no directory that can be read: \(directory)")
    }
    return names.sorted().map { place.appending(path: $0) }
      .filter { Self.extensions.contains($0.pathExtension.lowercased()) }
      .map { Picture(url: $0.absoluteString, name: $0.lastPathComponent) }
  }
}

/// One picture of the gallery.
struct Picture {
  let url: String
  let name: String

  init(url: String, name: String) {
    self.url = url
    self.name = name
  }

  /// Its name is the end of its path.
  init(url: String) {
    let path = url.prefix { $0 != "?" && $0 != "#" }
    let last = path.split(separator: "/").last ?? path[...]
    self.init(url: url, name: url.hasPrefix("data:") ? String(url.prefix(20)) : String(last))
  }
}
