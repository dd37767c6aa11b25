import Glibc

extension FileIO {
  /// Makes `bytes` the content of the file at `path`: readers find the old content or the new,
  /// never a part. A symbolic link is replaced, not followed.
  ///
  /// What is there and is not a regular file, such as /dev/stdout or a pipe, is written to instead.
  /// The content outlives a crash of this process, not surely a power cut.
  package static func replace(
    path: String, with bytes: borrowing Span<UInt8>
  ) throws(SystemError) {
    // An unreadable status is left to the calls that follow, which name their own trouble.
    if let status = try? FileStatus(following: path), !status.isRegularFile {
      let special = try open(path, O_WRONLY)
      return try writeAll(special.rawValue, bytes)
    }
    // In the same directory, as a rename does not cross file systems; under a name that does not
    // grow with the target's, which may be as long as a name can be.
    let directory = path.lastIndex(of: "/").map { path[...$0] } ?? ""
    let suffix = String(UInt64.random(in: 0...UInt64.max), radix: 36)
    let temporary = "\(directory).imgctl-\(suffix).tmp"
    let file: OwnedDescriptor
    do {
      file = try open(temporary, O_WRONLY | O_CREAT | O_EXCL, mode: 0o666)
    } catch {
      // The caller knows the file, not its stand-in.
      throw SystemError(operation: "write \(path)", code: error.code)
    }
    do {
      try writeAll(file.rawValue, bytes)
      _ = try pathCall("rename to", path) { unsafe rename(temporary, path) }
    } catch {
      unsafe unlink(temporary)
      throw error
    }
  }

  /// Makes `bytes` the content of the file at `path`, all at once.
  package static func replace(path: String, with bytes: [UInt8]) throws(SystemError) {
    try replace(path: path, with: bytes.span)
  }
}
