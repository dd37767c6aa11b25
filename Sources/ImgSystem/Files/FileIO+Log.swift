import Glibc

extension FileIO {
  /// Opens a log for appending. A log larger than `maximumByteCount` is truncated first.
  package static func open(
    log path: String, truncatedAbove maximumByteCount: Int
  ) throws(SystemError) -> OwnedDescriptor {
    let log = try open(appendingTo: path)
    if try FileStatus(of: log.rawValue).byteCount > maximumByteCount {
      try setByteCount(of: log.rawValue, to: 0)
    }
    return log
  }

  /// Redirects a stream to a new file at `path` if its log file was removed.
  ///
  /// - Parameter streams: the descriptors that may be logs. Other kinds of files are left alone.
  package static func renewLog(
    at path: String, for streams: [CInt] = [1, 2]
  ) throws(SystemError) {
    for stream in streams {
      // A stream may be closed.
      guard let status = try? FileStatus(of: stream), status.isRegularFile, !status.hasName
      else { continue }
      let log = try open(appendingTo: path)
      _ = try systemCall("dup2") { dup2(log.rawValue, stream) }
    }
  }
}
