import ImgSystem
import ImgTransport
import ImgWire
import TestCluster

/// A client's end of a connection, message by message.
typealias ClientChannel = Channel<CoordinatorReply, ClientMessage>

extension Cluster {
  func connect() throws -> ClientChannel {
    try ClientChannel(UnixSocket.connect(path: socketPath))
  }

  func greetedChannel() throws -> ClientChannel {
    let channel = try connect()
    try channel.send(.hello(Hello(processID: ThisProcess.processID)))
    _ = try channel.nextInTime()
    return channel
  }
}

extension ClientChannel {
  /// The next reply, within a program's patience.
  func nextInTime() throws -> CoordinatorReply {
    try next(until: .now + ProgramRun.patience)
  }

  func sendWhole(_ message: ClientMessage) throws {
    try send(message)
    try flush(until: .now + ProgramRun.patience)
  }
}
