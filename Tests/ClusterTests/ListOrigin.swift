import ImgDecode
import ImgModel
import TestOrigin
import TestPictures
import Testing

/// An origin for lists: `/p/N` is a small picture, `/text/N` is none, and all else is not found.
struct ListOrigin {
  let origin: TestOrigin

  /// Made once for all tests; URLs make them many.
  private static let pictures = Result {
    let maker = try PictureMaker.start()
    return try (0..<8).map { try maker.card(index: $0, width: 64, height: 48) }
  }

  /// - Parameter headerDelay: how long each answer is held back.
  init(headerDelay: Duration = .zero) throws {
    let pictures = try Self.pictures.get()
    origin = try TestOrigin { path, _ in
      let parts = path.split(separator: "/")
      guard parts.count == 2, let number = Int(parts[1]) else { return nil }
      return switch parts[0] {
      case "p": .body(pictures[number % pictures.count], headerDelay: headerDelay)
      case "text": .body(Array("no picture".utf8), contentType: "text/plain")
      default: nil
      }
    }
  }

  /// Serves a picture that is held back until its path is released.
  func hold(_ path: String) throws {
    origin.serve(path, .body(try Self.pictures.get()[0], delivery: .hold))
  }

  /// Serves a picture.
  func serve(_ path: String) throws {
    origin.serve(path, .body(try Self.pictures.get()[0]))
  }

  /// Serves a picture, but to the first who asks says that it is too busy.
  func refuseOnce(_ path: String) throws {
    origin.serve(path, .statuses([503, 200], body: try Self.pictures.get()[0]))
  }

  /// Holds the first transfers of a list back, so that what follows waits in its order.
  ///
  /// - Returns: their paths.
  func holdPictures(_ count: Int) throws -> [String] {
    let paths = (0..<count).map { "/held/\($0)" }
    for path in paths { try hold(path) }
    return paths
  }

  /// Holds the first pictures of a list back until so many requests are in flight, and lets them
  /// go: however slow the machine is, places that are there have then been used.
  ///
  /// - Parameter body: submits the list.
  func gather<Result>(_ count: Int, _ body: () throws -> Result) throws -> Result {
    let paths = (0..<count).map(Self.picturePath)
    for path in paths { try hold(path) }
    let result = try body()
    try #require(origin.waitUntil { $0.totals.inFlight == count })
    release(paths)
    return result
  }

  func release(_ paths: [String]) {
    for path in paths { origin.release(path) }
  }

  func url(_ path: String) -> String { origin.baseURL + path }

  /// The URLs of so many pictures.
  func pictures(_ count: Int) -> [String] {
    (0..<count).map { url(Self.picturePath($0)) }
  }

  private static func picturePath(_ number: Int) -> String { "/p/\(number)" }

  /// A list whose every twentieth line is a 404.
  func listWithMissing(_ count: Int) -> MixedList {
    var list = MixedList()
    for number in 0..<count {
      let isMissing = number % 20 == 19
      list.add(
        url(isMissing ? "/missing/\(number)" : Self.picturePath(number)),
        failing: isMissing ? .httpStatus : nil)
    }
    return list
  }

  /// A list whose every tenth line is a 404, and every tenth is not an image.
  func mixedList(_ count: Int) -> MixedList {
    var list = MixedList()
    for number in 0..<count {
      switch number % 10 {
      case 3:
        list.add(url("/missing/\(number)"), failing: .httpStatus)
      case 7:
        list.add(url("/text/\(number)"), failing: .notAnImage)
      default:
        list.add(url("/p/\(number)"), failing: nil)
      }
    }
    return list
  }
}

/// The lines of a list, and how each is to end.
struct MixedList {
  private(set) var lines: [String] = []
  private(set) var failures: [String: String] = [:]

  var doneCount: Int { lines.count - failures.count }

  mutating func add(_ line: String, failing code: Failure.Code?) {
    lines.append(line)
    failures[line] = code?.rawValue
  }
}
