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

  @Test func `a signal that the process ignores is not read`() throws {
    // Ignored by default too, so that this is no change for other tests.
    let before = signal(SIGURG, SIG_IGN)
    defer { _ = signal(SIGURG, before) }
    let source = try SignalSource([SIGURG, SIGUSR2])
    pthread_kill(pthread_self(), SIGURG)
    pthread_kill(pthread_self(), SIGUSR2)
    #expect(source.take() == [SIGUSR2])
  }
}
