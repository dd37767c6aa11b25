import ImgSystem
import Synchronization

/// An HTTP/1.1 server (RFC 9112).
///
/// Its threads: one accepts connections, watches those that wait, and drops what clients of refused requests
/// send; ``Configuration/threadCount`` others read requests, call the handler and send responses, each for its
/// share of the connections. Answers that come later are prepared by tasks, on the threads of Swift's
/// concurrency or on that of their connection.
///
/// Any thread may use a server. It stops when it is released.
package final class HTTPServer: Sendable {
  /// Where it listens. A port that the kernel has chosen is in it.
  package let address: Address
  private let core: ServerCore
  private let thread: ServiceThread<Never>
  private let end: Latch

  /// Starts to serve.
  ///
  /// - Throws: ``HTTPServerError`` if it cannot listen, or the process has no room for its threads or
  ///   descriptors.
  package convenience init(_ configuration: Configuration, handler: any HTTPHandler) throws {
    try self.init(configuration) { _ in handler }
  }

  /// Starts to serve with a handler that depends on where the server listens.
  ///
  /// - Parameter makeHandler: is called before the first connection is accepted.
  /// - Throws: ``HTTPServerError`` as above, and what `makeHandler` throws.
  package init(
    _ configuration: Configuration, makeHandler: (Address) throws -> any HTTPHandler
  ) throws {
    precondition(configuration.threadCount > 0, "a server needs a thread")
    let listener = try ListeningSocket.open(configuration.listener)
    let handler = try makeHandler(listener.address)
    do throws(SystemError) {
      let core = try ServerCore(handler: handler, limits: configuration.limits)
      let loops = try Self.startLoops(configuration.threadCount, core: core)
      let end = Latch()
      do throws(SystemError) {
        thread = try ServiceThread(name: "http-accept", capacity: 1) { _ in
          var thread = AcceptThread(core: core, listener: listener, loops: loops)
          thread.run()
          end.open()
        }
      } catch {
        for loop in loops { loop.stop() }
        throw error
      }
      self.core = core
      self.end = end
    } catch {
      throw HTTPServerError("the server cannot start: \(error)")
    }
    address = listener.address
  }

  private static func startLoops(
    _ count: Int, core: ServerCore
  ) throws(SystemError) -> [EventLoop] {
    var loops: [EventLoop] = []
    do throws(SystemError) {
      for _ in 0..<count { loops.append(try EventLoop(core: core)) }
    } catch {
      for loop in loops { loop.stop() }
      throw error
    }
    return loops
  }

  deinit {
    core.stop(until: 0)
  }

  /// Accepts no connection from now on, and returns when all are closed and the threads have ended.
  ///
  /// Requests that are under way finish, and streams end at once. At the deadline, the tasks that prepare
  /// answers are cancelled, and their connections close without one. A second call can make it sooner.
  package func stop(drainingFor duration: Duration = .zero) async {
    core.stop(until: MonotonicClock.nanoseconds() &+ duration.nanoseconds)
    await end.wait()
    thread.join()
  }

  /// What the server has done until now.
  package var statistics: Statistics {
    core.counters.statistics(openConnections: core.connections.count)
  }
}
