/// How much memory a process of this machine can still have.
package struct AvailableMemory: Hashable, Sendable {
  package let availableByteCount: Int
  package let totalByteCount: Int

  package init(availableByteCount: Int, totalByteCount: Int) {
    self.availableByteCount = availableByteCount
    self.totalByteCount = totalByteCount
  }

  /// The machine's, and that of the process's control group if it is limited; none without /proc.
  package static var now: [AvailableMemory] {
    let machine = text("/proc/meminfo").flatMap(AvailableMemory.init(memoryInformation:))
    return [machine, ofControlGroup].compactMap(\.self)
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
  /// kernel takes them back; shared memory does not.
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
    func byteCount(_ name: String) -> Int {
      statistics.split(separator: "\n").first { $0.hasPrefix(name + " ") }
        .flatMap { Int($0.dropFirst(name.utf8.count + 1)) } ?? 0
    }
    // The files are read one after the other.
    let available = maximum - used + byteCount("file") - byteCount("shmem")
    return AvailableMemory(
      availableByteCount: min(max(0, available), maximum), totalByteCount: maximum)
  }

  private static func number(_ path: String) -> Int? {
    text(path).flatMap { Int($0.prefix { $0.isNumber }) }
  }

  private static func text(_ path: String) -> String? {
    (try? FileIO.contents(of: path, upTo: 64 << 10)).map { String(decoding: $0, as: UTF8.self) }
  }
}
