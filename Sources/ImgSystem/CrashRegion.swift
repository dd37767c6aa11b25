import CLinux
import Glibc

/// Code regions in which a crash is attributed to the files that they read, and the action on such
/// a crash.
///
/// A fault raises its signal in the faulting thread (signal(7)), so a handler knows whether that
/// thread was inside a region. After a stack overflow no handler runs, and the crash counts as
/// outside all regions.
package enum CrashRegion {
  /// Puts the calling thread inside a region until ``leave()``. Regions nest. Costs no system call.
  package static func enter() { img_enter_crash_region() }

  package static func leave() { img_leave_crash_region() }

  /// On a crash inside a region, stores 1 in a word before the process ends.
  ///
  /// - Precondition: the words live as long as the process.
  package static func record(in words: SharedWords, at index: Int) {
    unsafe install(img_crash_plan(word: words.address(of: index)))
  }

  /// On a crash inside a region, ends the process with a message on standard error and an exit
  /// status, like any other error. Buffered output is lost.
  package static func report(_ message: String, exitStatus: Int32) {
    unsafe install(img_crash_plan(message: strdup(message), status: exitStatus))
  }

  /// On a crash inside a region, restarts this program in the same process, with these arguments
  /// and variables and the standard streams.
  package static func restart(arguments: [String], environment: [String: String]) {
    unsafe install(
      img_crash_plan(
        arguments: permanentVector(["imgctl"] + arguments),
        environment: permanentVector(environment.map { "\($0.key)=\($0.value)" })))
  }

  /// The signals of faults. If a thread blocks one, the fault ends the process without the handler.
  static let signals = [SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGTRAP, SIGFPE]

  private static func install(_ plan: img_crash_plan) {
    unsafe img_set_crash_plan(plan)
    for signal in signals {
      let result = img_catch_crash(signal)
      precondition(result == 0, "\(signal) is a signal that can be caught")
    }
  }

  /// A null-terminated vector of strings for C that is never freed, because a signal handler may
  /// not allocate one.
  private static func permanentVector(
    _ strings: [String]
  ) -> UnsafePointer<UnsafeMutablePointer<CChar>?> {
    let vector = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>.allocate(
      capacity: strings.count + 1)
    for (index, string) in strings.enumerated() {
      unsafe (vector + index).initialize(to: strdup(string))
    }
    unsafe (vector + strings.count).initialize(to: nil)
    return unsafe UnsafePointer(vector)
  }
}

extension img_crash_plan {
  fileprivate init(
    word: UInt = 0, arguments: UnsafePointer<UnsafeMutablePointer<CChar>?>? = nil,
    environment: UnsafePointer<UnsafeMutablePointer<CChar>?>? = nil,
    message: UnsafePointer<CChar>? = nil, status: Int32 = 0
  ) {
    unsafe self.init()
    unsafe self.word = word
    unsafe self.arguments = arguments
    unsafe self.environment = environment
    unsafe self.message = message
    unsafe self.status = status
  }
}
