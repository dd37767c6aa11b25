import CLinux

/// The two ends of a pair of connected sockets. Each can be taken once. An end that is not taken is
/// closed.
package struct SocketPair: ~Copyable, Sendable {
  private var first: OwnedDescriptor?
  private var second: OwnedDescriptor?

  init() throws(SystemError) {
    var (first, second): (CInt, CInt) = (-1, -1)
    _ = try systemCall("socketpair") { unsafe img_unix_socket_pair(&first, &second) }
    self.first = OwnedDescriptor(adopting: first)
    self.second = OwnedDescriptor(adopting: second)
  }

  package mutating func takeFirst() -> OwnedDescriptor {
    guard let descriptor = first.take() else { preconditionFailure("the first end was taken") }
    return descriptor
  }

  package mutating func takeSecond() -> OwnedDescriptor {
    guard let descriptor = second.take() else { preconditionFailure("the second end was taken") }
    return descriptor
  }
}
