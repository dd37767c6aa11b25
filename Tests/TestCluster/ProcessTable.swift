import FoundationEssentials
import ImgSystem

/// How many descriptors a process has open; `nil` when it is gone.
package func openDescriptorCount(of processID: Int32) -> Int? {
  (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(processID)/fd"))?.count
}

/// How many files in memory that hold a thumbnail a process has open.
package func openMemoryFileCount(of processID: Int32) -> Int {
  openFilePaths(of: processID).count { $0.hasPrefix("/memfd:imgctl-bytes") }
}

/// The paths of the files that a process has open, with ` (deleted)` behind those that are gone
/// (proc(5), /proc/pid/fd).
package func openFilePaths(of processID: Int32) -> [String] {
  let directory = "/proc/\(processID)/fd"
  let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
  // One that is closed meanwhile is not open.
  return names.compactMap {
    try? FileManager.default.destinationOfSymbolicLink(atPath: "\(directory)/\($0)")
  }
}

/// The children of a process's main thread, including dead ones that are not reaped (proc(5)).
package func childProcessIDs(of processID: Int32) -> [Int32] {
  let path = "/proc/\(processID)/task/\(processID)/children"
  let bytes = (try? FileIO.contents(of: path, upTo: 1 << 16)) ?? []
  return String(decoding: bytes, as: UTF8.self).split(separator: " ").compactMap { Int32($0) }
}

/// The most memory that a process had at any time, in bytes; `nil` when it is gone.
package func peakByteCount(of processID: Int32) -> Int? {
  statusNumber("VmHWM", of: processID).map { $0 << 10 }
}

/// How many filters of system calls hold for a process, those of its parents too; `nil` when it is
/// gone.
package func filterCount(of processID: Int32) -> Int? {
  statusNumber("Seccomp_filters", of: processID)
}

/// Whether a process waits for an event.
package func isAsleep(_ processID: Int32) -> Bool {
  statusField("State", of: processID) == "S"
}

private func statusNumber(_ name: String, of processID: Int32) -> Int? {
  statusField(name, of: processID).flatMap { Int($0) }
}

/// The first word of a field in the status of a process (proc(5), /proc/pid/status).
private func statusField(_ name: String, of processID: Int32) -> Substring? {
  let bytes = (try? FileIO.contents(of: "/proc/\(processID)/status", upTo: 1 << 16)) ?? []
  let line = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
    .first { $0.hasPrefix("\(name):") }
  return line?.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first
}
