import ImgSystem

/// A descriptor to be passed around whose last copy, in whichever process, is seen to be closed.
final class WatchedFile {
  private let witness: OwnedDescriptor
  private var end: PassedFile?

  init() throws {
    var pair = try UnixSocket.pair()
    witness = pair.takeFirst()
    // No file in memory, but the end of a socket, whose other end hears of its being closed.
    end = PassedFile(adopting: pair.takeSecond())
  }

  /// The descriptor; what is left of it here is closed when the caller lets go.
  func take() -> PassedFile? {
    end.take()
  }

  /// Whether no copy is left; waits for it.
  func isClosed() throws -> Bool {
    var bytes: [UInt8] = []
    return try UnixSocket.waitReadable(witness.rawValue, until: .now + .seconds(60))
      && UnixSocket.receive(witness.rawValue, into: &bytes, upTo: 1) == .closed
  }
}
