import Glibc

/// Which file something is, whatever its name.
struct FileIdentity: Equatable {
  private let device: dev_t
  private let node: ino_t

  /// Of what a path leads to; `nil` when there is nothing.
  init?(_ path: String) {
    var status = stat()
    guard unsafe stat(path, &status) == 0 else { return nil }
    self.init(status)
  }

  /// Of an open file.
  init?(_ descriptor: CInt) {
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0 else { return nil }
    self.init(status)
  }

  init(_ status: stat) {
    device = status.st_dev
    node = status.st_ino
  }
}
