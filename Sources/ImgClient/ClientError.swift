package import ImgTransport
package import ImgWire

/// Why the coordinator could not be asked, or did not do as asked. Each is a sentence for people.
package enum ClientError: Error, CustomStringConvertible {
  /// Nobody answers at the socket.
  case unreachable(socketPath: String, reason: String)
  /// A coordinator was to be started and did not come up.
  case notStarted(reason: String)
  /// The coordinator is of another protocol.
  case otherVersion(theirs: Hello)
  case refused(RequestRefusal.Code, message: String)
  /// The connection ended before the answer.
  case connection(ChannelError)

  package var description: String {
    switch self {
    case .unreachable(let socketPath, let reason):
      "no coordinator answers at \(socketPath) (\(reason)); start one with: imgctl start"
    case .notStarted(let reason):
      "the coordinator did not start: \(reason)"
    case .otherVersion(let theirs):
      "the running coordinator is imgctl \(theirs.version) (protocol \(theirs.protocolVersion)), "
        + "this is \(Build.version) (protocol \(Build.protocolVersion)); "
        + "end it with: kill \(theirs.processID)"
    case .refused(_, let message):
      message
    case .connection(.closed):
      "the coordinator has gone; accepted jobs go on when it is started again (imgctl start)"
    case .connection(let error):
      "the connection to the coordinator broke: \(error)"
    }
  }
}
