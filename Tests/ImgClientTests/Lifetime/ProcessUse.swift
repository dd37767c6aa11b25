import FoundationEssentials
import ImgSystem
import TestCluster

/// What this process has open, and how much memory it took.
struct ProcessUse {
  private let processID = ThisProcess.processID

  /// What is open, but for the timers.
  var descriptorCount: Int { openFilePaths(of: processID).count { $0 != Self.timer } }

  /// The timers of tasks. libdispatch opens one for each clock when a task sleeps, and ends a process that has
  /// no descriptors for them.
  var timerCount: Int { openFilePaths(of: processID).count { $0 == Self.timer } }

  /// The clocks of libdispatch.
  static let fullTimerCount = 2
  private static let timer = "anon_inode:[timerfd]"

  /// The most memory that the process had until now.
  var peakByteCount: Int { TestCluster.peakByteCount(of: processID) ?? 0 }

  /// The threads of sessions that have not ended.
  var sessionThreadCount: Int {
    let directory = "/proc/\(processID)/task"
    let threads = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
    return threads.count { thread in
      // One that ends meanwhile is not counted.
      let name = try? FileIO.contents(of: "\(directory)/\(thread)/comm", upTo: 64)
      return name.map { String(decoding: $0, as: UTF8.self) } == "imgclient\n"
    }
  }
}
