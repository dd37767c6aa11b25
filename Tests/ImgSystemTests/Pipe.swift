import Glibc
import ImgSystem
import Testing

/// The two ends of a pipe, for tests that watch what another process writes or what is closed.
struct Pipe: ~Copyable {
  let reader: OwnedDescriptor
  private var writer: OwnedDescriptor?

  init() throws {
    var ends: [CInt] = [-1, -1]
    try #require(unsafe pipe(&ends) == 0)
    reader = OwnedDescriptor(adopting: ends[0])
    writer = OwnedDescriptor(adopting: ends[1])
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    writerNumber = ends[1]
  }

  /// The number of the end to write to, as long as it is not closed.
  let writerNumber: CInt

  mutating func closeWriter() {
    writer = nil
  }

  /// All that is written until the last writer closes, as text.
  mutating func textToEnd() throws -> String {
    closeWriter()
    var bytes: [UInt8] = []
    while try FileIO.read(reader.rawValue, into: &bytes, upTo: 4096) > 0 {}
    return String(decoding: bytes, as: UTF8.self)
  }
}
