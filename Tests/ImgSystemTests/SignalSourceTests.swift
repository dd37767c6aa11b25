import Glibc
import ImgSystem
import Testing

@Suite(.timeLimit(.minutes(20)))
struct SignalSourceTests {
  @Test func `signals become readable`() throws {
    let source = try SignalSource([SIGUSR1, SIGUSR2])
    #expect(source.take() == [])
    // To this thread alone: other threads of the test process do not block them.
    pthread_kill(pthread_self(), SIGUSR1)
    pthread_kill(pthread_self(), SIGUSR2)
    #expect(try UnixSocket.waitReadable(source.descriptor, until: .now + .seconds(60)))
    #expect(source.take().sorted() == [SIGUSR1, SIGUSR2])
    #expect(source.take() == [])
  }
}
