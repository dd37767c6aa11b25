import ImgModel
import ImgScheduler
import ImgSettings
import ImgSystem
import ImgWire
import Testing

@testable import ImgCoordinator

@Suite struct LifecycleTests {
  private let start = Instant.now
  private let scheduler = SchedulerDriver(limits: LifecycleTests.settings().limits, seed: 1)

  private static func settings(idleExit: Duration? = nil) -> Settings {
    var settings = Settings(socketPath: "/socket", dataDirectory: "/data")
    settings.limits.workers = 1
    settings.limits.transferTimeout = .seconds(60)
    settings.limits.decodeTimeout = .seconds(30)
    settings.idleExit = idleExit
    return settings
  }

  private func lifecycle(idleExit: Duration? = nil) -> Lifecycle {
    Lifecycle(
      Self.settings(idleExit: idleExit), scheduler: scheduler,
      serviceManager: ServiceManager(environment: [:]), at: start)
  }

  @Test func `it drains for as long as one URL may take, leaves and ends`() {
    let lifecycle = lifecycle()
    #expect(lifecycle.isRunning)
    #expect(lifecycle.deadline == nil)
    lifecycle.drain(because: "test", at: start)
    #expect(lifecycle.phase == .draining(until: start + .seconds(125)))
    #expect(!lifecycle.isOverdue(at: start + .seconds(124)))
    #expect(lifecycle.isOverdue(at: start + .seconds(125)))
    lifecycle.leave(at: start + .seconds(20))
    #expect(lifecycle.deadline == start + .seconds(25))
    #expect(lifecycle.exitStatus == nil)
    lifecycle.end(status: 0)
    #expect(lifecycle.exitStatus == 0)
    #expect(lifecycle.deadline == nil)
  }

  @Test func `a second drain does not prolong the first, and asks the scheduler no more`() {
    let lifecycle = lifecycle()
    lifecycle.drain(because: "test", at: start)
    #expect(scheduler.state.isDraining == true)
    while scheduler.nextEffect() != nil {}
    lifecycle.drain(because: "test", at: start + .seconds(10))
    #expect(lifecycle.deadline == start + .seconds(125))
    #expect(scheduler.nextEffect() == nil)
  }

  @Test func `a coordinator that has given up does not leave in order any more`() {
    let lifecycle = lifecycle()
    lifecycle.end(status: 1)
    lifecycle.leave(at: start)
    #expect(lifecycle.exitStatus == 1)
  }

  @Test func `idle time counts from the last work or client`() {
    let lifecycle = lifecycle(idleExit: .seconds(10))
    #expect(lifecycle.idleDeadline == start + .seconds(10))
    lifecycle.update(isIdle: false, at: start + .seconds(5))
    lifecycle.update(isIdle: true, at: start + .seconds(7))
    #expect(lifecycle.idleDeadline == start + .seconds(15))
    lifecycle.drain(because: "test", at: start)
    #expect(lifecycle.idleDeadline == nil)
  }

  @Test func `a coordinator without a limit stays however long it is idle`() {
    #expect(lifecycle().idleDeadline == nil)
  }
}

@Suite struct TokenTests {
  private static let tokens: [Token] = [
    .listener, .signals, .journal, .client(ClientID(rawValue: 7)),
    .client(ClientID(rawValue: 1 << 56 - 1)), .workerChannel(WorkerID(rawValue: 7)),
    .workerExit(WorkerID(rawValue: 7)), .decoderExit(DecoderNumber(rawValue: 7)),
    .errors(.worker(WorkerID(rawValue: 1 << 56 - 1))),
    .errors(.decoder(DecoderNumber(rawValue: 7))),
  ]

  @Test func `each token has a number of its own and comes back from it`() {
    let numbers = Self.tokens.map(\.rawValue)
    #expect(Set(numbers).count == numbers.count)
    for number in numbers { #expect(Token(rawValue: number)?.rawValue == number) }
  }

  @Test func `a number of no kind is no token`() {
    #expect(Token(rawValue: 9 << 56) == nil)
    #expect(Token(rawValue: .max) == nil)
  }

  @Test func `clients and the listener are served after everything else`() {
    let ofClients = Self.tokens.filter { Token.isOfClientsOrListener($0.rawValue) }
    #expect(
      ofClients.map(\.rawValue)
        == [
          Token.listener, .client(ClientID(rawValue: 7)), .client(ClientID(rawValue: 1 << 56 - 1)),
        ]
        .map(\.rawValue))
  }
}

@Suite struct SchedulerDriverTests {
  private var limits: Limits {
    var limits = Limits()
    limits.workers = 2
    return limits
  }

  private func effects(of driver: SchedulerDriver) -> [Effect] {
    var effects: [Effect] = []
    while let effect = driver.nextEffect() { effects.append(effect) }
    return effects
  }

  @Test func `events and effects are small, because each is moved several times`() {
    #expect(MemoryLayout<Event>.size <= 96)
    #expect(MemoryLayout<Effect>.size <= 96)
    #expect(MemoryLayout<JournalOperation>.size <= 96)
  }

  @Test func `effects wait in the order of their events until they are taken`() {
    let driver = SchedulerDriver(limits: limits, seed: 1)
    #expect(driver.nextEffect() == nil)
    driver.handle(.began)
    driver.handle(.drainRequested)
    let effects = effects(of: driver)
    let starts = effects.prefix {
      if case .spawn = $0 { true } else { false }
    }
    #expect(starts.count == 2)
    #expect(effects.count > 2)
    #expect(driver.nextEffect() == nil)
  }

  @Test func `an event that an effect causes is handled at once, its effects come last`() {
    let driver = SchedulerDriver(limits: limits, seed: 1)
    driver.handle(.began)
    guard case .spawn = driver.nextEffect() else {
      Issue.record("no worker is started")
      return
    }
    let viewer = ViewerID(rawValue: 1)
    driver.handle(
      .viewerArrived(
        viewer, GetRequest(url: "no URL", options: RequestOptions(variant: .standard))))
    let rest = effects(of: driver)
    guard case .spawn = rest.first else {
      Issue.record("the second worker is not next")
      return
    }
    guard case .answer(viewer, _, _) = rest.last else {
      Issue.record("the answer is not last")
      return
    }
  }
}

@Suite struct IntervalTimerTests {
  private let start = Instant.now

  /// At which of the times, counted from the start, the timer fires.
  private func firings(of timer: inout IntervalTimer, at seconds: [Int]) -> [Int] {
    seconds.filter { timer.fires(at: start + .seconds($0)) }
  }

  @Test func `it fires at once, then once an interval`() {
    var timer = IntervalTimer(every: .seconds(2), from: start)
    #expect(firings(of: &timer, at: [0, 0, 1]) == [0])
    #expect(timer.deadline == start + .seconds(2))
    #expect(firings(of: &timer, at: [2, 3, 4]) == [2, 4])
  }

  @Test func `after a pause of the loop it fires once, not once for each interval missed`() {
    var timer = IntervalTimer(every: .seconds(2), from: start)
    #expect(firings(of: &timer, at: [9, 10]) == [9])
    #expect(timer.deadline == start + .seconds(11))
  }
}

@Suite struct MemoryFileTableTests {
  @Test func `a file is there under its identifier until it is released`() throws {
    let table = MemoryFileTable()
    let first = table.add(try MemoryFile(containing: [1]).file)
    let second = table.add(try MemoryFile(containing: [1, 2]).file)
    #expect(first != second)
    #expect(table.count == 2)
    #expect(try MemoryFile(table[second]).contents(byteCount: 2) == [1, 2])
    table.release(first)
    #expect(table.count == 1)
    #expect(table.add(try MemoryFile(containing: [3]).file) != first)
  }

  @Test func `a second release is a bug of the caller`() async {
    await #expect(processExitsWith: .failure) {
      let table = MemoryFileTable()
      let file = table.add(try MemoryFile(containing: [1]).file)
      table.release(file)
      table.release(file)
    }
  }
}
