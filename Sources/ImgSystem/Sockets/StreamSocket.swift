import CLinux
import Glibc

/// Ends the directions of a connection: shutdown(2). An error means that they have ended already.
package enum StreamSocket {
  /// Ends both, also for a thread that waits for one.
  package static func shutDown(_ descriptor: CInt) {
    _ = shutdown(descriptor, CInt(SHUT_RDWR))
  }

  /// The end of the input is readable from now on.
  package static func shutDownInput(_ descriptor: CInt) {
    _ = shutdown(descriptor, CInt(SHUT_RD))
  }

  /// The peer gets what was sent, and then the end.
  package static func shutDownOutput(_ descriptor: CInt) {
    _ = shutdown(descriptor, CInt(SHUT_WR))
  }
}
