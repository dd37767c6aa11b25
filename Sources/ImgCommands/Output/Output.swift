import FoundationEssentials
import Glibc
import ImgModel
import ImgSystem

/// A buffered output stream, such as standard output or standard error.
///
/// The owner flushes it at the end. The process must ignore SIGPIPE.
package final class Output {
  private let descriptor: CInt
  private let capacity: Int
  private var buffer: [UInt8] = []

  /// - Parameter capacity: the size of the buffer in bytes; 0 writes everything at once.
  package init(descriptor: CInt, capacity: Int = 64 << 10) {
    self.descriptor = descriptor
    self.capacity = capacity
  }

  package func write(_ text: String) throws(OutputError) {
    buffer += text.utf8
    if buffer.count > capacity { try flush() }
  }

  /// Writes the bytes of a picture.
  package func write(bytes: [UInt8]) throws(OutputError) {
    buffer += bytes
    if buffer.count > capacity { try flush() }
  }

  /// The version of the commands' JSON, the key `schema` of every object. Removing a key or
  /// changing its meaning raises it. Adding a key does not.
  package static let jsonSchema = 1

  /// Writes an object as one line of JSON with sorted keys and ``jsonSchema``, without secrets and with
  /// escapes for what a terminal would obey.
  package func write(json value: some Encodable) throws {
    try write(try Self.json(of: value))
  }

  /// The line that ``write(json:)`` writes.
  static func json(of value: some Encodable) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    encoder.userInfo[.isForPeople] = true
    let json = try encoder.encode(Versioned(value: value))
    return String(decoding: json, as: UTF8.self).escapedForTerminals + "\n"
  }

  /// An object with the version of its layout.
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

  /// Writes the buffer.
  package func flush() throws(OutputError) {
    // Discard the buffer even if writing fails, so that nothing is written twice.
    defer { buffer.removeAll(keepingCapacity: true) }
    do {
      try FileIO.writeAll(descriptor, buffer.span)
    } catch {
      throw error.code == EPIPE ? .readerLeft : .failed(error)
    }
  }
}
