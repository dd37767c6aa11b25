/// A parser of bytes from outside, with the properties that hold for any input. An input that breaks
/// one ends the process: libFuzzer then writes the input to a file.
struct FuzzTarget: Sendable, CustomStringConvertible {
  let name: String
  /// Valid inputs, from which the others are derived.
  let seeds: [[UInt8]]
  /// Parses the bytes.
  let run: @Sendable ([UInt8]) -> Void

  init(_ name: String, seeds: [[UInt8]], run: @escaping @Sendable ([UInt8]) -> Void) {
    self.name = name
    self.seeds = seeds
    self.run = run
  }

  /// A parser of text. Bytes that are not UTF-8 become U+FFFD, as in the program.
  init(_ name: String, texts: [String], run: @escaping @Sendable (String) -> Void) {
    self.init(name, seeds: texts.map { Array($0.utf8) }) {
      run(String(decoding: $0, as: UTF8.self))
    }
  }

  var description: String { name }

  static let all =
    wire + heads + encodedBodies + texts + sniffing + containers + facts + bitmaps + animations
    + sequences + previews + requests
}
