import CFuzzer
import Glibc
import SeededRandom

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

#if !FUZZING
  import Testing

  @Suite("Parsers of bytes from outside", .timeLimit(.minutes(20)))
  struct FuzzTargetTests {
    @Test("A parser takes its seeds and damaged copies of them", arguments: FuzzTarget.all)
    func damagedCopies(of target: FuzzTarget) {
      var random = SeededGenerator(seed: 1)
      for seed in target.seeds {
        target.run(seed)
        for _ in 0..<300 { target.run(damaged(seed, &random)) }
      }
    }

    @Test("Names of parsers are unique, because a fuzzing run is asked for by name")
    func names() {
      #expect(Set(FuzzTarget.all.map(\.name)).count == FuzzTarget.all.count)
    }

    /// Some bytes changed, added or removed.
    private func damaged(_ bytes: [UInt8], _ random: inout SeededGenerator) -> [UInt8] {
      var copy = bytes
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        let index = Int.random(in: 0...copy.count, using: &random)
        switch Int.random(in: 0..<4, using: &random) {
        case 0 where index < copy.count: copy.remove(at: index)
        case 1: copy.insert(.random(in: 0...255, using: &random), at: index)
        case 2: copy.removeLast(min(copy.count, Int.random(in: 0...8, using: &random)))
        default: if index < copy.count { copy[index] = .random(in: 0...255, using: &random) }
        }
      }
      return copy
    }
  }
#endif

#if FUZZING
  /// libFuzzer on one of the parsers.
  ///
  ///     imgfuzz PARSER [OPTION | DIRECTORY]…    runs libFuzzer with these arguments
  ///     imgfuzz --list                          names the parsers
  ///     imgfuzz --write-seeds DIRECTORY PARSER  writes the seeds of a parser as files
  @main
  struct FuzzMain {
    /// The parser of a run. A constant, because libFuzzer calls a C function without a context.
    private static let target = target(named: CommandLine.arguments[1])

    static func main() {
      let arguments = Array(CommandLine.arguments.dropFirst())
      if arguments == ["--list"] {
        FuzzTarget.all.forEach { print($0.name) }
      } else if arguments.count == 3, arguments[0] == "--write-seeds" {
        writeSeeds(of: target(named: arguments[2]), to: arguments[1])
      } else if let name = arguments.first {
        // libFuzzer takes the name for the program's.
        exit(runFuzzer([target(named: name).name] + arguments.dropFirst()))
      } else {
        print("usage: imgfuzz PARSER [OPTION | DIRECTORY]…")
        exit(2)
      }
    }

    private static func target(named name: String) -> FuzzTarget {
      guard let target = FuzzTarget.all.first(where: { $0.name == name }) else {
        print("there is no parser \(name); imgfuzz --list names them")
        exit(2)
      }
      return target
    }

    private static func runFuzzer(_ arguments: [String]) -> CInt {
      var count = CInt(arguments.count)
      var texts: [UnsafeMutablePointer<CChar>?] = unsafe arguments.map { unsafe strdup($0) } + [nil]
      return unsafe texts.withUnsafeMutableBufferPointer { buffer in
        var first = buffer.baseAddress
        return unsafe LLVMFuzzerRunDriver(&count, &first) { bytes, count in
          let input = unsafe UnsafeBufferPointer(start: bytes, count: count)
          FuzzMain.target.run(unsafe Array(input))
          return 0
        }
      }
    }

    private static func writeSeeds(of target: FuzzTarget, to directory: String) {
      for (index, seed) in target.seeds.enumerated() {
        guard let file = unsafe fopen("\(directory)/seed\(index)", "w") else {
          print("\(directory) is not writable")
          exit(1)
        }
        unsafe fwrite(seed, 1, seed.count, file)
        unsafe fclose(file)
      }
    }
  }
#endif
