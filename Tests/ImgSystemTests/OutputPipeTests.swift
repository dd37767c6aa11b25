import Glibc
import ImgSystem
import Testing

@Suite(.timeLimit(.minutes(20)))
struct OutputPipeTests {
  @Test func `what is written is read, then nothing, then the end`() throws {
    var pipe = try OutputPipe()
    let reader = pipe.takeReader()
    var bytes: [UInt8] = []
    #expect(try OutputPipe.read(reader.rawValue, into: &bytes) == .nothing)
    try FileIO.writeAll(pipe.writerDescriptor, "last")
    let result = try end(pipe, readBy: reader.rawValue, into: &bytes)
    #expect(result == .bytes)
    #expect(String(decoding: bytes, as: UTF8.self) == "last")
    // Until no child that another test starts has the writer open, as it has until its exec.
    #expect(try UnixSocket.waitReadable(reader.rawValue, until: .now + .seconds(240)))
    #expect(try OutputPipe.read(reader.rawValue, into: &bytes) == .closed)
  }

  private func end(
    _ pipe: consuming OutputPipe, readBy reader: CInt, into bytes: inout [UInt8]
  ) throws -> OutputPipe.ReadResult {
    _ = consume pipe
    return try OutputPipe.read(reader, into: &bytes)
  }

  @Test func `a writer does not wait for a reader`() throws {
    let pipe = try OutputPipe()
    let bytes = [UInt8](repeating: 0, count: OutputPipe.capacity)
    var writtenCount = 0
    while true {
      let count = unsafe write(pipe.writerDescriptor, bytes, bytes.count)
      guard count > 0 else { break }
      writtenCount += count
    }
    #expect(errno == EAGAIN)
    #expect(writtenCount == OutputPipe.capacity)
  }

  @Test func `a writer that waits makes no reader wait`() throws {
    var pipe = try OutputPipe()
    let reader = pipe.takeReader()
    try UnixSocket.setNonBlocking(pipe.writerDescriptor, false)
    var bytes: [UInt8] = []
    #expect(try OutputPipe.read(reader.rawValue, into: &bytes) == .nothing)
  }

  @Test func `a pipe cannot be shut down`() throws {
    let pipe = try OutputPipe()
    #expect(shutdown(pipe.writerDescriptor, CInt(SHUT_RDWR)) == -1)
    #expect(errno == ENOTSOCK)
  }
}
