import Testing

@testable import ImgFetch

@Suite(.timeLimit(.minutes(20))) struct UnusedBodiesTests {
  @Test func `bodies are due half a second after their heads, the oldest first`() {
    let bodies = UnusedBodies()
    let start = ContinuousClock.now
    let first = bodies.note(1, at: start)
    let second = bodies.note(2, at: start + .milliseconds(100))
    #expect(first == start + .milliseconds(500))
    #expect(bodies.nextDeadline == first)
    #expect(bodies.takeDue(at: first - .milliseconds(1)).isEmpty)
    #expect(bodies.takeDue(at: first).map(\.id) == [1])
    #expect(bodies.nextDeadline == second)
    #expect(bodies.takeDue(at: second).map(\.deadline) == [second])
    #expect(bodies.nextDeadline == nil)
  }
}
