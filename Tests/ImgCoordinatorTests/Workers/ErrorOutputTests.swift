import Testing

@testable import ImgCoordinator

/// What of a worker's standard error reaches the log.
@Suite struct ErrorOutputTests {
  private let start = ContinuousClock.now
  private var output = ErrorOutput(program: "imgworker")

  private mutating func receive(_ text: String, after time: Duration = .zero) -> [String] {
    output.receive(Array(text.utf8), at: start + time)
  }

  @Test mutating func `lines of the program pass through, whole and in order`() {
    #expect(receive("2026-01-01T00:00:00Z imgworker: one\n2026-01-01T").count == 1)
    #expect(
      receive("00:00:01Z imgworker: two\n") == ["2026-01-01T00:00:01Z imgworker: two"])
    #expect(output.messageDeadline == nil)
    #expect(output.takeMessage() == nil)
  }

  @Test mutating func `a panic of several lines becomes one`() {
    let panic = """
      thread '<unnamed>' panicked at src/lib.rs:1:2:
      called `Option::unwrap()` on a `None` value

      note: run with `RUST_BACKTRACE=1`

      """
    #expect(receive(panic).isEmpty)
    #expect(output.messageDeadline == start + ErrorOutput.messageDelay)
    let message = """
      thread '<unnamed>' panicked at src/lib.rs:1:2:; called `Option::unwrap()` on a `None` value
      """
    #expect(output.takeMessage() == message)
    #expect(output.takeMessage() == nil)
    #expect(output.messageDeadline == nil)
  }

  @Test mutating func `of many lines the first count`() {
    for number in 0..<1_000 { _ = receive("line \(number)\n", after: .milliseconds(number)) }
    #expect(output.messageDeadline == start + ErrorOutput.messageDelay)
    #expect(output.takeMessage() == "line 0; line 1")
  }

  @Test mutating func `a line without an end takes no more room than its maximum`() {
    for _ in 0..<100 { _ = receive(String(repeating: "x", count: 1_000)) }
    #expect(output.takeMessage() == nil)
    let last = output.end(at: start)
    #expect(last == nil)
    #expect(output.takeMessage()?.utf8.count == ErrorOutput.maximumMessageByteCount)
  }

  @Test mutating func `a line that a death cuts off still counts`() {
    #expect(receive("2026-01-01T00:00:00Z imgworker: half").isEmpty)
    #expect(output.end(at: start) == "2026-01-01T00:00:00Z imgworker: half")
    _ = receive("memory allocation of 8 bytes failed")
    let last = output.end(at: start)
    #expect(last == nil)
    #expect(output.takeMessage() == "memory allocation of 8 bytes failed")
  }

  @Test mutating func `control characters do not reach the log`() {
    _ = receive("\u{1B}[31mred\u{7}\r\n")
    #expect(output.takeMessage() == "[31mred")
    #expect(receive("t imgworker: a\u{1B}b\n") == ["t imgworker: a b"])
  }

  @Test func `messages beyond ten a minute are counted and not shown`() {
    var allowance = MessageAllowance()
    let shown = (0..<60).compactMap { allowance.take(at: start + .seconds($0)) }
    #expect(shown == [0] + Array(repeating: 5, count: 9))
  }
}
