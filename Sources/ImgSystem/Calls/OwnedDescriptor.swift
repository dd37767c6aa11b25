import Glibc

/// The one owner of an open file descriptor; closes it at the end of its life.
///
/// Every descriptor of this module is close-on-exec: a child receives what it is handed, no more.
package struct OwnedDescriptor: ~Copyable, Sendable {
  /// The number, for calls. Valid only while the owner lives.
  package let rawValue: CInt

  /// Takes over an open descriptor that nobody else closes.
  package init(adopting descriptor: CInt) {
    precondition(descriptor >= 0, "not a descriptor")
    rawValue = descriptor
  }

  deinit {
    // Never repeated after EINTR: Linux has freed the number by then, and may have given it to
    // another thread (close(2), "Dealing with error returns").
    if close(rawValue) != 0 {
      precondition(errno != EBADF, "descriptor \(rawValue) was closed behind its owner's back")
    }
  }

  /// Gives the descriptor away open: whoever takes the number closes it.
  package consuming func release() -> CInt {
    let descriptor = rawValue
    discard self
    return descriptor
  }

  /// A second descriptor of the same open file.
  package func duplicate() throws(SystemError) -> OwnedDescriptor {
    OwnedDescriptor(
      adopting: try systemCall("fcntl F_DUPFD_CLOEXEC") { fcntl(rawValue, F_DUPFD_CLOEXEC, 0) })
  }
}
