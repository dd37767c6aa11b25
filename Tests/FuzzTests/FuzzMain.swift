import CFuzzer
import Glibc

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
