/// The reason why a payload is not a message. The connection closes. Both ends run the same build, so
/// the cause is a bug or a foreign client; a peer of another version is refused at the hello.
package struct MessageError: Error, Equatable, CustomStringConvertible {
  package let description: String

  package init(description: String) {
    self.description = description
  }
}

/// Encodes messages as frames and decodes payloads, each by itself. A connection has a ``WireCoder``.
package enum WireCoding {
  /// The frame of a message.
  ///
  /// - Throws: ``MessageError`` if the message does not fit into one frame.
  package static func frame(_ message: some WireMessage) throws(MessageError) -> [UInt8] {
    var coder = WireCoder()
    return try coder.frame(message)
  }

  /// The message in the payload of one frame.
  package static func message<Message: WireMessage>(
    _ type: Message.Type, from payload: ArraySlice<UInt8>
  ) throws(MessageError) -> Message {
    var coder = WireCoder()
    return try coder.message(type, from: payload)
  }
}
