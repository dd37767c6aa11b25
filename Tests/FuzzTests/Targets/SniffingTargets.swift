@testable import ImgSniff

/// The formats of bodies, by their first bytes.
extension FuzzTarget {
  static let sniffing = [
    FuzzTarget(
      "format",
      seeds: heads(of: ["GIF89a", "\u{89}PNG\r\n", "BM", "<svg/>", "P6 1", "P7\nWIDTH 1"])
    ) { body in
      let rejection = FormatSniffer.rejection(of: body)
      let finding = FormatSniffer.sniff(body)
      // What is rejected by its first bytes is no format of all of them.
      if rejection != nil, (try? FormatSniffer.format(of: body)) != nil {
        preconditionFailure("\(finding) is rejected")
      }
    },
    FuzzTarget(
      "xml-prologue",
      seeds: [
        Array("<?xml version=\"1.0\"?><!-- a --><!DOCTYPE svg [<!ENTITY a \"b\">]><svg>".utf8),
        [0xFE, 0xFF] + "<svg/>".utf16.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] },
      ]
    ) { _ = XMLPrologue.verdict(on: $0[...]) },
    FuzzTarget("gzip-head", seeds: [[0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 0xB3, 0x01, 0]]) { bytes in
      guard let inflated = GzipHead.inflated(bytes[...], upTo: 1_000) else { return }
      precondition(inflated.count <= 1_000, "more is inflated than asked for")
    },
  ]

  private static func heads(of texts: [String]) -> [[UInt8]] {
    texts.map { $0.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) } + [0, 0, 0, 0] }
  }
}
