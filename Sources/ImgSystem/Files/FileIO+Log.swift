import Glibc

extension FileIO {
  /// Opens a log for adding at its end; one that has grown beyond `maximumByteCount` begins anew.
  package static func open(
    log path: String, startingAnewAbove maximumByteCount: Int
  ) throws(SystemError) -> OwnedDescriptor {
    let log = try open(appendingTo: path)
    if try FileStatus(of: log.rawValue).byteCount > maximumByteCount {
      _ = try systemCall("ftruncate \(path)") { ftruncate(log.rawValue, 0) }
    }
    return log
  }
}
