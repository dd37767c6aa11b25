import ImgModel

/// The number of a client's connection. Numbers are not reused.
struct ClientID: RawRepresentable, Hashable, Comparable, CustomStringConvertible {
  let rawValue: UInt32

  var description: String { "\(rawValue)" }

  static func < (left: ClientID, right: ClientID) -> Bool { left.rawValue < right.rawValue }
}

/// A client's request whose answer comes later.
struct Requester: Hashable {
  let client: ClientID
  let request: RequestID
}
