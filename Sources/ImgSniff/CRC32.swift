import CZlib

/// The checksum of a PNG chunk (PNG Specification, third edition, section 5.5).
package struct CRC32 {
  package private(set) var value: UInt32 = 0

  package init() {}

  package mutating func add(_ bytes: Span<UInt8>) {
    value = unsafe bytes.withUnsafeBufferPointer { buffer in
      UInt32(truncatingIfNeeded: unsafe crc32_z(UInt(value), buffer.baseAddress, buffer.count))
    }
  }
}
