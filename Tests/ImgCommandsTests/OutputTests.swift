import Glibc
import ImgCommands
import ImgSystem
import Testing

@Suite(.timeLimit(.minutes(20))) struct OutputTests {
  private struct Point: Encodable {
    let url = "https://example.org/"
    let across = 1
  }

  /// What was written by `body`, seen at the other end of a socket.
  private func written(
    capacity: Int = 1_024, _ body: (Output) throws -> Void
  ) throws -> String {
    var pair = try UnixSocket.pair()
    let near = pair.takeFirst()
    let far = pair.takeSecond()
    try body(Output(descriptor: near.rawValue, capacity: capacity))
    var bytes: [UInt8] = []
    try UnixSocket.setNonBlocking(far.rawValue, true)
    _ = try UnixSocket.receive(far.rawValue, into: &bytes, upTo: 4_096)
    return String(decoding: bytes, as: UTF8.self)
  }

  @Test func `text is buffered until it is flushed`() throws {
    #expect(try written { try $0.write("a") } == "")
    #expect(
      try written {
        try $0.write("a")
        try $0.write("b\n")
        try $0.flush()
      } == "ab\n")
  }

  @Test func `text beyond the buffer is written`() throws {
    #expect(try written(capacity: 3) { try $0.write("abcd") } == "abcd")
    #expect(try written(capacity: 0) { try $0.write("a") } == "a")
  }

  @Test func `JSON is one line with sorted keys, plain slashes and the version of its schema`()
    throws
  {
    #expect(
      try written(capacity: 0) { try $0.write(json: Point()) }
        == "{\"across\":1,\"schema\":1,\"url\":\"https://example.org/\"}\n")
  }

  @Test func `a closed reader is distinguished from a failure`() throws {
    ThisProcess.ignoreBrokenPipe()
    var pair = try UnixSocket.pair()
    let near = pair.takeFirst()
    _ = pair.takeSecond()
    let output = Output(descriptor: near.rawValue, capacity: 0)
    #expect(throws: OutputError.readerLeft) { try output.write("a") }
  }

  @Test func `a full device is a failure`() throws {
    let device = try FileIO.open(appendingTo: "/dev/full")
    let output = Output(descriptor: device.rawValue, capacity: 0)
    #expect(throws: OutputError.failed(SystemError(operation: "write", code: ENOSPC))) {
      try output.write("a")
    }
  }
}
