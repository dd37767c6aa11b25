import ImgModel

/// The first message in each direction of every connection.
package struct Hello: Hashable, Sendable, Codable {
  package let protocolVersion: Int
  /// The version of the sender's program, for people.
  package let version: String
  package let processID: Int32
  /// The store's directory; only in the coordinator's hello to a client.
  package let storeDirectory: String?

  package init(
    protocolVersion: Int = Build.protocolVersion, version: String = Build.version,
    processID: Int32, storeDirectory: String? = nil
  ) {
    self.storeDirectory = storeDirectory
    self.protocolVersion = protocolVersion
    self.version = version
    self.processID = processID
  }

  private enum CodingKeys: String, CodingKey {
    case protocolVersion = "protocol"
    case version
    case processID = "pid"
    case storeDirectory = "store"
  }
}
