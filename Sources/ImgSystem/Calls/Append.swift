/// Lets a call write up to `maximumByteCount` bytes at the end of `buffer`, without clearing that
/// memory first.
///
/// - Parameter call: returns the number of bytes it wrote, or -1 with errno.
func append(
  to buffer: inout [UInt8], upTo maximumByteCount: Int, operation: String,
  _ call: (UnsafeMutableBufferPointer<UInt8>) -> Int
) throws(SystemError) -> Int {
  var appendedCount = 0
  try buffer.append(addingCapacity: maximumByteCount) { output throws(SystemError) in
    try unsafe output.withUnsafeMutableBufferPointer { bytes, count throws(SystemError) in
      appendedCount = try systemCall(operation) { unsafe call(bytes) }
      count += appendedCount
    }
  }
  return appendedCount
}
