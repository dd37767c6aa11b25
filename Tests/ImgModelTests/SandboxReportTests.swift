import ImgModel
import Testing

struct SandboxReportTests {
  private let complete = SandboxReport(
    hasNoNewPrivileges: true, isNotDumpable: true, hasSystemCallFilter: true,
    landlockVersion: 7, hasOwnNetwork: true)

  @Test func `a complete sandbox is a list of its protections`() {
    #expect(complete.missing.isEmpty)
    #expect(
      complete.description == "seccomp, Landlock 7, own network, no_new_privs, not dumpable")
  }

  @Test func `a network namespace is not essential`() {
    var report = complete
    report.hasOwnNetwork = false
    #expect(report.missing.isEmpty)
    #expect(report.description == "seccomp, Landlock 7, no_new_privs, not dumpable")
  }

  @Test func `what the kernel lacks is named`() {
    var report = complete
    report.landlockVersion = nil
    #expect(report.missing == ["Landlock"])
    #expect(
      report.description
        == "seccomp, own network, no_new_privs, not dumpable; the kernel lacks Landlock")
  }

  @Test func `a process without protections says so`() {
    #expect(
      SandboxReport().description
        == "none; the kernel lacks no_new_privs and system call filters (seccomp) and Landlock")
  }
}
