internal import Glibc
internal import ImgSystem

/// The libraries by which the C library looks up host names (nsswitch.conf(5)). It loads each at the
/// first look-up that needs it, and a process in the sandbox loads no code any more.
enum NameServices {
  private static let configurationPath = "/etc/nsswitch.conf"
  private static let maximumByteCount = 1 << 16

  /// Loads them. One that is missing is no error: the C library continues with the next service.
  static func load() {
    guard let bytes = try? FileIO.contents(of: configurationPath, upTo: maximumByteCount) else {
      return
    }
    for name in names(in: String(decoding: bytes, as: UTF8.self)) {
      _ = unsafe dlopen("libnss_\(name).so.2", RTLD_NOW)
    }
  }

  /// The services of the line `hosts:`, without what is to be done after each, which stands in
  /// brackets.
  static func names(in configuration: String) -> [String] {
    let lines = configuration.split(separator: "\n").map { $0.prefix { $0 != "#" } }
    guard let line = lines.first(where: { $0.hasPrefix("hosts:") }) else { return [] }
    var names: [String] = []
    var isInBrackets = false
    for word in line.dropFirst("hosts:".count).split(whereSeparator: \.isWhitespace) {
      if word.hasPrefix("[") { isInBrackets = true }
      if !isInBrackets, word.utf8.allSatisfy(isOfName) { names.append(String(word)) }
      if word.hasSuffix("]") { isInBrackets = false }
    }
    return names
  }

  private static func isOfName(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
      true
    default: false
    }
  }
}
