import Glibc

/// The size and the free space of a file system.
package struct DiskSpace: Hashable, Sendable {
  package let byteCount: Int64
  /// The space available to this user (statvfs(3), `f_bavail`).
  package let freeByteCount: Int64

  package init(byteCount: Int64, freeByteCount: Int64) {
    self.byteCount = byteCount
    self.freeByteCount = freeByteCount
  }

  /// The file system of an open file.
  package init(of descriptor: CInt) throws(SystemError) {
    var value = statvfs()
    _ = try systemCall("fstatvfs") { unsafe fstatvfs(descriptor, &value) }
    let block = Int64(clamping: value.f_frsize)
    byteCount = Self.product(Int64(clamping: value.f_blocks), block)
    freeByteCount = Self.product(Int64(clamping: value.f_bavail), block)
  }

  private static func product(_ count: Int64, _ size: Int64) -> Int64 {
    let (product, overflow) = count.multipliedReportingOverflow(by: size)
    return overflow ? .max : product
  }
}
