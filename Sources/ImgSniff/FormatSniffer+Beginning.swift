extension FormatSniffer {
  /// Whether a body that is too short to be any picture is the beginning of one, as far as that can be
  /// told.
  package static func isBeginning(_ body: [UInt8]) -> Bool {
    let head = body[...]
    return signatures.contains { $0.isBegun(by: head) }
      || isoMediaStarts.contains { $0.starts(with: head) || head.starts(with: $0) }
      || windowsStarts.contains { $0.starts(with: head) || head.starts(with: $0) }
      || anymapStarts.contains { $0.starts(with: head) }
      || verdict(onXML: head) == .undecided || gzipStart.starts(with: head)
  }

  /// Lengths of a first box, and its type.
  private static let isoMediaStarts = (8...64).map { [0, 0, 0, $0] + Array("ftyp".utf8) }
  private static let windowsStarts: [[UInt8]] = [Array("BM".utf8), [0, 0, 1, 0], [0, 0, 2, 0]]
  private static let gzipStart: [UInt8] = [0x1F, 0x8B]
}
