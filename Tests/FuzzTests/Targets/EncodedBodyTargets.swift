import ImgModel

@testable import ImgFetch

/// Bodies with a Content-Encoding.
extension FuzzTarget {
  /// What comes out does not depend on the chunks in which a body arrives.
  static let encodedBodies = [
    FuzzTarget(
      "gzip-body",
      seeds: [
        [
          0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 2, 3, 0x4B, 0x4C, 0x4A, 0x4E, 0x24, 5, 1, 0, 0xD2, 0x73,
          0xC0,
          0xD0, 0x30, 0, 0, 0,
        ]
      ]
    ) { check($0, "gzip") },
    FuzzTarget(
      "deflate-body",
      seeds: [[0x78, 0xDA, 0x4B, 0x4C, 0x4A, 0x4E, 0x24, 5, 1, 0, 0xC2, 0x4F, 0x12, 0x61]]
    ) { check($0, "deflate") },
    FuzzTarget(
      "brotli-body",
      seeds: [[0x1B, 0x2F, 0, 0xF8, 0x25, 0xC3, 0xC4, 0xC6, 0xC2, 0x9B, 0x20, 0xE0, 0x34]]
    ) { check($0, "br") },
    FuzzTarget(
      "zstd-body",
      seeds: [
        [
          0x28, 0xB5, 0x2F, 0xFD, 0x20, 0x30, 0x4D, 0, 0, 0x18, 0x61, 0x62, 0x63, 1, 0, 0x6A, 0xBA,
          0x21,
        ]
      ]
    ) { check($0, "zstd") },
  ]

  private static let maximumByteCount = 1 << 20

  @Sendable private static func check(_ body: [UInt8], _ coding: String) {
    let whole = decoded(body, coding, chunkByteCount: max(body.count, 1))
    guard let whole, whole.count <= maximumByteCount else { return }
    precondition(whole == decoded(body, coding, chunkByteCount: 1), "the chunks make a difference")
  }

  /// - Returns: `nil` for what is no body of that coding, or not a whole one.
  private static func decoded(
    _ body: [UInt8], _ coding: String, chunkByteCount: Int
  ) -> [UInt8]? {
    var fields = HeadFields()
    fields.take(line: Array("Content-Encoding: \(coding)".utf8))
    let head = ResponseHead(status: 200, fields: fields, receivedAt: .distantPast)
    guard let decoding = try? ContentDecoding(head, maximumByteCount: maximumByteCount) else {
      return nil
    }
    var content: [UInt8] = []
    for start in stride(from: 0, to: body.count, by: chunkByteCount) {
      let chunk = Array(body[start...].prefix(chunkByteCount))
      let reception = unsafe chunk.withUnsafeBufferPointer { chunk in
        unsafe decoding.receive(chunk) { piece in
          guard content.count <= maximumByteCount else { return .stop(.bodyTooLong) }
          unsafe content.append(contentsOf: piece)
          return .taken
        }
      }
      switch reception {
      case .taken: break
      case .wait, .stop: return nil
      }
    }
    return decoding.truncation == nil ? content : nil
  }
}
