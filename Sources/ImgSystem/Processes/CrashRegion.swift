import CLinux
import Glibc

/// Parts of this program in which a crash says something about the files that are read there, and
/// what such a crash does.
///
/// A fault raises its signal in the thread that has it (signal(7)), so a handler knows whether that
/// thread was inside a region, whatever the others do. A thread whose stack is used up runs no
/// handler; its crash counts as one outside of every region.
package enum CrashRegion {
  /// The calling thread is inside a region until ``leave()``. Regions nest. Costs no system call.
  package static func enter() { img_enter_crash_region() }

  package static func leave() { img_leave_crash_region() }

  /// A crash inside a region stores 1 in a word before it ends the process.
  ///
  /// - Precondition: the words live as long as the process.
  package static func record(in words: SharedWords, at index: Int) {
    unsafe install(img_crash_plan(word: words.address(of: index)))
  }

  /// A crash inside a region ends the process with a message on standard error and an exit status,
  /// as any other error does. What a stream holds back is lost.
  package static func report(_ message: String, exitStatus: Int32) {
    unsafe install(img_crash_plan(message: strdup(message), status: exitStatus))
  }

  /// A crash inside a region starts this program again in the same process, with these arguments and
  /// variables and the standard streams.
  package static func restart(arguments: [String], environment: [String: String]) {
    unsafe install(
      img_crash_plan(
        arguments: permanentVector(["imgctl"] + arguments),
        environment: permanentVector(environment.map { "\($0.key)=\($0.value)" })))
  }

  /// What a fault raises. A thread that blocks one of them ends the process without a handler.
  static let signals = [SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGTRAP, SIGFPE]

  private static func install(_ plan: img_crash_plan) {
    unsafe img_set_crash_plan(plan)
    for signal in signals {
      let result = img_catch_crash(signal)
      precondition(result == 0, "\(signal) is a signal that can be caught")
    }
  }

  /// A vector of strings for C that ends with a null pointer and is never freed: a handler may not
  /// make one.
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
