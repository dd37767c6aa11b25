import ImgCommands
import ImgSystem

/// A list of any length in a file, made without ever being in memory.
struct LongList {
  let shape: ListShape
  let lineCount: Int
  let path: String

  /// So that no host's share of the transfers is what is measured.
  private static let hostCount = 200

  /// Writes the file.
  init(_ shape: ListShape, lineCount: Int, path: String) throws {
    self.shape = shape
    self.lineCount = lineCount
    self.path = path
    let file = try FileIO.create(path)
    let output = Output(descriptor: file.rawValue)
    let distinctCount = shape.distinctCount(lineCount: lineCount)
    for number in 0..<lineCount { try output.write(Self.url(number % distinctCount) + "\n") }
    try output.flush()
  }

  /// The list's distinct URLs.
  var urls: some Sequence<String> {
    (0..<shape.distinctCount(lineCount: lineCount)).lazy.map(Self.url)
  }

  /// About as long as URLs of pictures are, at unused addresses (RFC 5737, TEST-NET-1)
  /// and that are refused unless allowed.
  private static func url(_ number: Int) -> String {
    let host = "192.0.2.\(10 + number % hostCount)"
    return "http://\(host)/photographs/2024-07/\(1_000_000_000 + number)-large-1024x768.jpg"
  }
}
