import Glibc

extension FileIO {
  /// Opens a log for adding at its end; one that has grown beyond `maximumByteCount` begins anew.
  package static func open(
    log path: String, startingAnewAbove maximumByteCount: Int
  ) throws(SystemError) -> OwnedDescriptor {
    let log = try open(appendingTo: path)
    if try FileStatus(of: log.rawValue).byteCount > maximumByteCount {
      try setByteCount(of: log.rawValue, to: 0)
    }
    return log
  }

  /// Goes on in a new file at `path` where a stream's log was removed: what is written into a file
  /// without a name, nobody ever reads.
  ///
  /// - Parameter streams: the descriptors that may be such logs; others stay what they are.
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
