import Glibc

/// The unique owner of an open file descriptor, which it closes in `deinit`.
///
/// Every descriptor of this module is close-on-exec, so a child gets only the descriptors that
/// `ChildProcess.spawn` passes.
package struct OwnedDescriptor: ~Copyable, Sendable {
  /// The number, for calls. Valid only while the owner lives.
  package let rawValue: CInt

  /// Takes ownership of an open descriptor.
  package init(adopting descriptor: CInt) {
    precondition(descriptor >= 0, "not a descriptor")
    rawValue = descriptor
  }

  deinit {
    // Not repeated after EINTR: Linux has already freed the number, and another thread may have it
    // (close(2), "Dealing with error returns").
    if close(rawValue) != 0 {
      precondition(errno != EBADF, "descriptor \(rawValue) was closed behind its owner's back")
    }
  }

  /// Releases ownership without closing. The caller closes the descriptor.
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
