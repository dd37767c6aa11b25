/// How much memory a process of this machine can still have.
package struct AvailableMemory: Hashable, Sendable {
  package let availableByteCount: Int
  package let totalByteCount: Int

  package init(availableByteCount: Int, totalByteCount: Int) {
    self.availableByteCount = availableByteCount
    self.totalByteCount = totalByteCount
  }

  /// The machine's, or that of the process's control group where it has less; `nil` without /proc.
  package static var now: AvailableMemory? {
    guard let machine = text("/proc/meminfo").flatMap(AvailableMemory.init(memoryInformation:))
    else {
      return nil
    }
    guard let group = ofControlGroup else { return machine }
    return group.availableByteCount < machine.availableByteCount ? group : machine
  }

  /// - Parameter text: the content of /proc/meminfo (proc_meminfo(5)).
  init?(memoryInformation text: String) {
    func byteCount(_ name: String) -> Int? {
      for line in text.split(separator: "\n") where line.hasPrefix(name + ":") {
        return line.split(separator: " ").dropFirst().first.flatMap { Int($0) }.map { $0 << 10 }
      }
      return nil
    }
    guard let available = byteCount("MemAvailable"), let total = byteCount("MemTotal") else {
      return nil
    }
    self.init(availableByteCount: available, totalByteCount: total)
  }

  /// `nil` unless it is limited (cgroups(7), version 2). Pages of files count as available, because the
  /// kernel takes them back.
  private static var ofControlGroup: AvailableMemory? {
    guard
      let line = text("/proc/self/cgroup")?.split(separator: "\n").first(where: {
        $0.hasPrefix("0::")
      })
    else { return nil }
    let directory = "/sys/fs/cgroup" + line.dropFirst(3)
    guard let maximum = number("\(directory)/memory.max"),
      let used = number("\(directory)/memory.current")
    else { return nil }
    let statistics = text("\(directory)/memory.stat") ?? ""
    let files = statistics.split(separator: "\n").first { $0.hasPrefix("file ") }
      .flatMap { Int($0.dropFirst(5)) }
    return AvailableMemory(
      availableByteCount: max(0, maximum - used + (files ?? 0)), totalByteCount: maximum)
  }

  private static func number(_ path: String) -> Int? {
    text(path).flatMap { Int($0.prefix { $0.isNumber }) }
  }

  private static func text(_ path: String) -> String? {
    (try? FileIO.contents(of: path, upTo: 64 << 10)).map { String(decoding: $0, as: UTF8.self) }
  }
}
