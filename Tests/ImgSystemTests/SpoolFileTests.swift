import Glibc
import ImgSystem
import TestFiles
import Testing

@Suite(.timeLimit(.minutes(20))) struct SpoolFileTests {
  @Test func `appended bytes are read in order at any position`() throws {
    let directory = try TestDirectory()
    let file = try SpoolFile(in: directory.path)
    let bytes = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    try file.append(bytes.span.extracting(..<60_000))
    try file.append(bytes.span.extracting(60_000...))
    #expect(lseek(file.descriptor, 500, SEEK_SET) == 500)
    #expect(try file.contents(byteCount: bytes.count) == bytes)
    #expect(try file.contents(byteCount: 10) == Array(bytes[..<10]))
  }

  @Test func `reading more bytes than the file has is an error`() throws {
    let directory = try TestDirectory()
    let file = try SpoolFile(in: directory.path)
    #expect(throws: SystemError.self) { try file.contents(byteCount: 1) }
  }

  @Test func `a spool file has no name and is not inherited`() throws {
    let directory = try TestDirectory()
    let file = try SpoolFile(in: directory.path)
    var status = stat()
    #expect(unsafe fstat(file.descriptor, &status) == 0)
    #expect(status.st_nlink == 0)
    #expect(fcntl(file.descriptor, F_GETFD) & FD_CLOEXEC != 0)
    #expect(unsafe rmdir(directory.path) == 0)
    #expect(unsafe mkdir(directory.path, 0o700) == 0)
  }

  @Test func `a missing directory or an unsupported file system is an error`() {
    // Who may not write there is told that first.
    for (directory, codes) in [("/nowhere", [ENOENT]), ("/proc", [EOPNOTSUPP, EACCES])] {
      let error = #expect(throws: SystemError.self) { try SpoolFile(in: directory) }
      #expect(error.map { codes.contains($0.code) } == true)
    }
  }
}
