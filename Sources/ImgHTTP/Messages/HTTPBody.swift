/// The bytes of a body. Any number of responses can share one, and none copies it to send it.
///
/// Sendable is unchecked because of the pointer. The memory behind it is written only by the initialiser,
/// and the object owns it.
@safe
package final class HTTPBody: @unchecked Sendable {
  /// libmicrohttpd reads it while it sends, so it stays in its place as long as the object lives.
  let memory: UnsafeRawBufferPointer

  package init(_ bytes: [UInt8]) {
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 16)
    unsafe copy.copyBytes(from: bytes)
    unsafe memory = UnsafeRawBufferPointer(copy)
  }

  /// Copies the bytes.
  package init(_ bytes: Span<UInt8>) {
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 16)
    unsafe bytes.withUnsafeBufferPointer { unsafe copy.copyBytes(from: $0) }
    unsafe memory = UnsafeRawBufferPointer(copy)
  }

  deinit {
    unsafe memory.deallocate()
  }

  /// The number of bytes.
  package var count: Int { unsafe memory.count }

  /// A copy.
  package var bytes: [UInt8] { unsafe Array(memory) }
}
