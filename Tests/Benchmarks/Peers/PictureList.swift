import FoundationEssentials
import ImgSystem

/// Pictures of a directory behind a static origin, and a list of distinct URLs of them.
struct PictureList {
  let name: String
  /// Paths of the pictures.
  let paths: [String]
  let directory: String
  /// Each picture in turn, as often as the list is long, with another query each time.
  let urls: [String]

  init(_ name: String, directory: String, origin: StaticOrigin, urlCount: Int) throws {
    self.name = name
    self.directory = directory
    let names = try FileManager.default.subpathsOfDirectory(atPath: directory).sorted()
      .filter { FileIO.isFile("\(directory)/\($0)") }
    guard !names.isEmpty else { throw BenchError("there is no picture in \(directory)") }
    let base = try origin.serve(directory, as: name)
    paths = names.map { "\(directory)/\($0)" }
    urls = (0..<urlCount).map { "\(base)/\(Self.escaped(names[$0 % names.count]))?\($0)" }
  }

  var pictureCount: Int { paths.count }

  private static func escaped(_ path: String) -> String {
    path.utf8.map { byte in
      switch byte {
      case 0x2D, 0x2E, 0x2F, 0x30...0x39, 0x41...0x5A, 0x5F, 0x61...0x7A:
        return String(Unicode.Scalar(byte))
      default:
        let digits = String(byte, radix: 16, uppercase: true)
        return byte < 16 ? "%0\(digits)" : "%\(digits)"
      }
    }.joined()
  }
}
