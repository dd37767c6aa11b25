/// The bytes of a body. Any number of responses can share one, and none copies it to send it.
///
/// Sendable is unchecked because of the pointer. The memory behind it is written only by the initialiser,
/// and the object owns it.
@safe
package final class HTTPBody: @unchecked Sendable {
  /// libmicrohttpd reads it while it sends, so it stays in its place as long as the object lives.
  let memory: UnsafeRawBufferPointer
  private let onRelease: (@Sendable () -> Void)?

  /// - Parameter onRelease: is called when nothing holds the bytes any more.
  package init(_ bytes: [UInt8], onRelease: (@Sendable () -> Void)? = nil) {
    self.onRelease = onRelease
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 16)
    unsafe copy.copyBytes(from: bytes)
    unsafe memory = UnsafeRawBufferPointer(copy)
  }

  deinit {
    unsafe memory.deallocate()
    onRelease?()
  }

  /// The number of bytes.
  package var count: Int { unsafe memory.count }

  /// A copy.
  package var bytes: [UInt8] { unsafe Array(memory) }
}
