import CLinux
import Testing

@testable import ImgSandbox

struct RulesTests {
  @Test func `an older Landlock is asked only for rights that it knows`() {
    let refer = FileRights(rawValue: UInt64(IMG_LANDLOCK_REFER))
    let truncate = FileRights(rawValue: UInt64(IMG_LANDLOCK_TRUNCATE))
    #expect(FileRights.all.known(to: 5) == .all)
    #expect(FileRights.all.known(to: 4) == FileRights.all.subtracting(.controlDevices))
    #expect(
      FileRights.all.known(to: 2)
        == FileRights.all.subtracting([.controlDevices, truncate]))
    #expect(
      FileRights.all.known(to: 1)
        == FileRights.all.subtracting([.controlDevices, truncate, refer]))
  }

  @Test func `a decoder is refused everything on paths but reading fonts`() {
    let access = SandboxProfile.decoder.access
    #expect(access.refusedRights == .all)
    #expect(access.refusesTCPBind && access.refusesTCPConnect)
    #expect(access.refusesAbstractSockets && access.refusesSignals)
    #expect(access.exceptions.allSatisfy { $0.rights == .read })
    #expect(access.exceptions.allSatisfy { $0.path.hasSuffix("/fonts") })
  }

  @Test func `a worker writes its data directory, and reads what the settings name`() {
    let access = SandboxProfile.worker(
      WorkerPlaces(
        dataDirectories: ["/data"], spoolDirectories: ["/spool"], allowedDirectories: ["/pictures"],
        authorityFile: "/home/ca.pem")
    ).access
    let rights = Dictionary(
      access.exceptions.map { ($0.path, $0.rights) }, uniquingKeysWith: { $0.union($1) })
    #expect(rights["/data"] == .readAndWrite)
    #expect(rights["/spool"] == .readAndWriteFiles)
    #expect(rights["/pictures"] == .read)
    #expect(rights["/home/ca.pem"] == .read)
    #expect(rights["/etc"] == .read)
    #expect(rights["/"] == nil && rights["/home"] == nil && rights["/tmp"] == nil)
  }

  @Test func `a decoder's calls of these names depend on their arguments`() {
    let rules = SandboxProfile.decoderCalls(processID: 42)
    #expect(rules.otherwise == .kill)
    for call in [
      "clone", "fcntl", "mmap", "mprotect", "openat", "prctl", "prlimit64", "tgkill",
    ] {
      let matching = rules.rules.filter { $0.call == call }
      #expect(!matching.isEmpty && matching.allSatisfy { !$0.conditions.isEmpty }, "\(call)")
    }
  }

  @Test(arguments: [
    "execve", "fork", "socket", "connect", "ptrace", "kill", "memfd_create", "shutdown",
  ])
  func `a decoder has no rule for what it never needs`(call: String) {
    #expect(!SandboxProfile.decoderCalls(processID: 42).rules.contains { $0.call == call })
  }

  @Test func `a condition compares the 32 bits of an int`() {
    let condition = SystemCallRules.Condition.equals(-1, argument: 0)
    #expect(condition.test == .bits(mask: 0xFFFF_FFFF, value: 0xFFFF_FFFF))
    let bits = SystemCallRules.Condition.hasNone(of: 6, in: 2)
    #expect(bits.argument == 2 && bits.test == .bits(mask: 6, value: 0))
  }

  @Test func `the address space has room for the shared memory and for libraries`() {
    let limits = ProcessLimits(privateByteCount: 1 << 30, sharedByteCount: 1 << 20)
    #expect(limits.privateByteCount == 1 << 30)
    #expect(limits.addressSpaceByteCount == (1 << 30) + (1 << 20) + (512 << 20))
  }

  @Test func `errors are sentences that say what is missing`() {
    #expect(
      SandboxError.missing(["Landlock"]).description
        == "the sandbox is required (--require-sandbox), and this kernel lacks Landlock")
  }
}
