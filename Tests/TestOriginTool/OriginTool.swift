import Dispatch
import FoundationEssentials
import Glibc
import ImgModel
import TestOrigin
import TestPictures

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

/// What is wrong with the command line, as a sentence.
struct UsageError: Error {
  let message: String
}

/// What is served, where and how long.
struct ServeOptions {
  static let usage = """
    usage: testorigin [--port N] [--pictures N] [--size WxH] [--not-found-every K]
                      [--not-image-every K] [--directory DIR] [--print-urls FILE]
                      [--until-stdin-closes]
    """

  private(set) var port: UInt16 = 0
  private(set) var pictureCount = 0
  private(set) var width = 320
  private(set) var height = 240

  /// Every so many-th picture is a 404, a text; nil for none.
  private(set) var notFoundInterval: Int?
  private(set) var notImageInterval: Int?

  private(set) var directory: String?
  private(set) var urlListPath: String?
  private(set) var endsWithStandardInput = false

  init(_ arguments: [String]) throws(UsageError) {
    var rest = arguments[...]
    while let flag = rest.popFirst() {
      switch flag {
      case "--port": port = UInt16(try Self.number(of: flag, in: &rest, 0...65_535))
      case "--pictures": pictureCount = try Self.number(of: flag, in: &rest, 0...10_000_000)
      case "--size": (width, height) = try Self.size(of: flag, in: &rest)
      case "--not-found-every": notFoundInterval = try Self.number(of: flag, in: &rest, 1...Int.max)
      case "--not-image-every": notImageInterval = try Self.number(of: flag, in: &rest, 1...Int.max)
      case "--directory": directory = try Self.value(of: flag, in: &rest)
      case "--print-urls": urlListPath = try Self.value(of: flag, in: &rest)
      case "--until-stdin-closes": endsWithStandardInput = true
      default: throw UsageError(message: "\(flag) is not known")
      }
    }
  }

  private static func value(
    of flag: String, in rest: inout ArraySlice<String>
  ) throws(UsageError) -> String {
    guard let value = rest.popFirst() else { throw UsageError(message: "\(flag) needs a value") }
    return value
  }

  private static func number(
    of flag: String, in rest: inout ArraySlice<String>, _ range: ClosedRange<Int>
  ) throws(UsageError) -> Int {
    let text = try value(of: flag, in: &rest)
    guard let number = Int(text), range.contains(number) else {
      throw UsageError(message: "\(flag): \(text) is not a number within its limits")
    }
    return number
  }

  private static func size(
    of flag: String, in rest: inout ArraySlice<String>
  ) throws(UsageError) -> (width: Int, height: Int) {
    let text = try value(of: flag, in: &rest)
    let sides = text.split(separator: "x", omittingEmptySubsequences: false).map { Int($0) ?? 0 }
    guard sides.count == 2, sides.allSatisfy((1...10_000).contains) else {
      throw UsageError(message: "\(flag): \(text) is not a size such as 640x480")
    }
    return (sides[0], sides[1])
  }
}

/// The numbered pictures of the origin, from 1, in all common formats by turns; some of them, if so
/// wanted, are missing or no pictures.
///
/// Made before the first request, so that serving costs nothing but the copying. From the 1,001st
/// on the bodies repeat.
struct PictureCatalogue: Sendable {
  private static let distinctLimit = 1_000
  private static let formats: [(picture: PictureFormat, image: ImageFormat)] = [
    (.jpeg, .jpeg), (.png, .png), (.webp, .webp), (.progressiveJPEG, .jpeg), (.gif, .gif),
    (.interlacedPNG, .png), (.tiff, .tiff), (.avif, .avif),
  ]

  /// In the order of the numbers.
  let paths: [String]

  private let count: Int
  private let notFoundInterval: Int?
  private let notImageInterval: Int?
  private let bodies: [[UInt8]]

  init(_ options: ServeOptions) throws {
    count = options.pictureCount
    notFoundInterval = options.notFoundInterval
    notImageInterval = options.notImageInterval
    let maker = try PictureMaker.start()
    bodies = try (0..<min(count, Self.distinctLimit)).map { index in
      try maker.card(
        index: index + 1, width: options.width, height: options.height,
        format: Self.formats[index % Self.formats.count].picture)
    }
    paths = (0..<count).map(Self.path)
  }

  /// Nil for a path that is none of the catalogue's.
  func behaviour(for path: String) -> Behaviour? {
    let prefix = "/picture/"
    guard path.hasPrefix(prefix),
      let number = Int(path.dropFirst(prefix.count).prefix { $0 != "." }),
      (1...max(1, count)).contains(number), path == Self.path(ofIndex: number - 1)
    else { return nil }
    if let notFoundInterval, number.isMultiple(of: notFoundInterval) { return .status(404) }
    if let notImageInterval, number.isMultiple(of: notImageInterval) {
      return .body(Array("This is not a picture.\n".utf8), contentType: "text/plain")
    }
    let index = (number - 1) % bodies.count
    let format = Self.format(ofIndex: number - 1)
    return .body(bodies[index], contentType: "image/\(format.rawValue)")
  }

  private static func path(ofIndex index: Int) -> String {
    "/picture/\(index + 1).\(format(ofIndex: index).fileExtension)"
  }

  /// The limit on distinct bodies is a multiple of the number of formats, so a repeated body keeps
  /// its format.
  private static func format(ofIndex index: Int) -> ImageFormat {
    formats[index % formats.count].image
  }
}

/// SIGTERM and SIGINT, to be waited for. Made before the process starts threads, so that all of
/// them leave the signals to the one that waits.
struct EndSignal {
  private let signals: sigset_t

  init() {
    var signals = sigset_t()
    unsafe sigemptyset(&signals)
    unsafe sigaddset(&signals, SIGTERM)
    unsafe sigaddset(&signals, SIGINT)
    unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
    self.signals = signals
  }

  func wait(alsoForStandardInput: Bool) {
    if alsoForStandardInput {
      DispatchQueue.global().async {
        var byte: UInt8 = 0
        while unsafe read(STDIN_FILENO, &byte, 1) > 0 {}
        kill(getpid(), SIGTERM)
      }
    }
    var awaited = signals
    var received: CInt = 0
    unsafe sigwait(&awaited, &received)
  }
}
