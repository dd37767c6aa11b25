import FoundationEssentials
import Glibc
import TestOrigin

/// Serves what the options say until it is told to end.
struct OriginTool {
  private let options: ServeOptions
  private let catalogue: PictureCatalogue
  private let directory: ServedDirectory?

  init(_ options: ServeOptions) throws {
    self.options = options
    catalogue = try PictureCatalogue(options)
    directory = try options.directory.map { path in
      guard let directory = ServedDirectory(path) else {
        throw UsageError(message: "--directory: there is no directory \(path)")
      }
      return directory
    }
  }

  /// Returns when the signal to end came or, if so wanted, the standard input ended.
  func run(until ending: EndSignal) throws {
    let origin = try TestOrigin(port: options.port)
    origin.fallback = { [unowned origin, catalogue, directory] path, query in
      switch path {
      case "/__stats": Self.statistics(of: origin)
      case "/__release": Self.release(query, on: origin)
      default: catalogue.behaviour(for: path) ?? directory?.behaviour(for: path)
      }
    }
    if let file = options.urlListPath {
      let paths = try catalogue.paths + (directory?.paths() ?? [])
      let list = paths.map { origin.baseURL + $0 + "\n" }.joined()
      try Data(list.utf8).write(to: URL(filePath: file))
    }
    announce(origin)
    ending.wait(alsoForStandardInput: options.endsWithStandardInput)
    origin.stop()
  }

  /// Written past the buffers of the C library, because a reader of a pipe waits for this line.
  private func announce(_ origin: TestOrigin) {
    let line = Array("listening on \(origin.baseURL)\n".utf8)
    _ = unsafe write(STDOUT_FILENO, line, line.count)
  }

  private static func statistics(of origin: TestOrigin) -> Behaviour {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    guard let json = try? encoder.encode(origin.snapshot) else {
      // Counters and texts always encode; a client sees if that should change.
      return .status(500)
    }
    return .body(Array(json), contentType: "application/json")
  }

  /// `/__release?path=/a`: lets go what is held at `/a`.
  private static func release(_ query: String?, on origin: TestOrigin) -> Behaviour {
    guard let query, query.hasPrefix("path=") else { return .status(400) }
    origin.release(String(query.dropFirst("path=".count)))
    return .status(204)
  }
}
