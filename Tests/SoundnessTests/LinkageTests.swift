import FoundationEssentials
import Testing

/// What the built programs link: pictures and the network are the workers' business alone, so that
/// `imgctl` starts in milliseconds and a hostile picture never meets the coordinator.
struct LinkageTests {
  @Test(arguments: ["imgctl", "imgcoordinator"])
  func `imgctl and imgcoordinator link neither libvips nor libcurl`(program: String) throws {
    let libraries = try neededLibraries(of: program)
    #expect(!libraries.contains { $0.hasPrefix("libvips") || $0.hasPrefix("libcurl") })
    #expect(!libraries.contains { $0.hasPrefix("libFoundation.so") })
  }

  /// Shows that the test above would see such a library.
  @Test func `imgworker links both`() throws {
    let libraries = try neededLibraries(of: "imgworker")
    #expect(libraries.contains { $0.hasPrefix("libvips") })
    #expect(libraries.contains { $0.hasPrefix("libcurl") })
  }

  @Test func `a file that is not a program is refused`() {
    #expect(throws: ElfImage.Malformed.self) { try ElfImage(bytes: Array("#!/bin/sh".utf8)) }
  }

  /// The programs lie beside the program that runs the tests.
  private func neededLibraries(of program: String) throws -> [String] {
    let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    let directory = tests.split(separator: "/", omittingEmptySubsequences: false).dropLast()
    let path = (directory + [program[...]]).joined(separator: "/")
    let bytes = try Data(contentsOf: URL(filePath: path))
    return try ElfImage(bytes: Array(bytes)).neededLibraries
  }
}
