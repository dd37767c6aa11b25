import FoundationEssentials
import Glibc
import ImgModel
import ImgSystem

/// A stream for people and programs to read: standard output or standard error.
///
/// Whoever makes one flushes it in the end; SIGPIPE must be ignored in the process.
package final class Output {
  private let descriptor: CInt
  private let capacity: Int
  private var buffer: [UInt8] = []

  /// - Parameter capacity: bytes that may wait in memory; 0 writes everything at once.
  package init(descriptor: CInt, capacity: Int = 64 << 10) {
    self.descriptor = descriptor
    self.capacity = capacity
  }

  package func write(_ text: String) throws(OutputError) {
    buffer += text.utf8
    if buffer.count > capacity { try flush() }
  }

  /// Writes bytes that are no text: a picture.
  package func write(bytes: [UInt8]) throws(OutputError) {
    buffer += bytes
    if buffer.count > capacity { try flush() }
  }

  /// The version of the JSON that commands print, the member `schema` of every object. A key that
  /// goes or changes its meaning raises it; a new key does not.
  package static let jsonSchema = 1

  /// Writes an object as JSON on a line of its own, its keys sorted, with ``jsonSchema`` and without
  /// what may be a secret.
  package func write(json value: some Encodable) throws {
    try write(try Self.json(of: value))
  }

  /// The line that ``write(json:)`` writes.
  static func json(of value: some Encodable) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    encoder.userInfo[.isForPeople] = true
    return String(decoding: try encoder.encode(Versioned(value: value)), as: UTF8.self) + "\n"
  }

  /// An object that tells the version of its layout.
  private struct Versioned<Value: Encodable>: Encodable {
    let value: Value

    private enum CodingKeys: String, CodingKey {
      case schema
    }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(Output.jsonSchema, forKey: .schema)
      try value.encode(to: encoder)
    }
  }

  /// Writes what waits in memory.
  package func flush() throws(OutputError) {
    // Forgotten even when it cannot be written: it is not tried again.
    defer { buffer.removeAll(keepingCapacity: true) }
    do {
      try FileIO.writeAll(descriptor, buffer.span)
    } catch {
      throw error.code == EPIPE ? .readerLeft : .failed(error)
    }
  }
}
